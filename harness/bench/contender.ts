/**
 * A target as a bench sees it: one of its operations, the way around its key layer, and which classes it can be
 * asked for. For a class that it cannot, the reason stands in the report.
 */
import { Failure } from "../fail.ts";
import { changeableFields, plainText, variedText } from "../payload.ts";
import type { Target, TargetOperation } from "../target.ts";
import type { BenchClass } from "./bench-class.ts";

export interface Contender {
  /** With the operation and, where there are such, its baseline and its large variant as further operations. */
  readonly target: Target;
  readonly operation: string;
  /** Null: the file names no way around the key layer. */
  readonly baseline: string | null;
  /** The operation whose answer is large; null: the file names no way to ask for one. */
  readonly large: string | null;
  readonly caller: string;
  /** What first use is compared with. */
  readonly comparedWith: "baseline" | "replay";
  readonly classes: readonly BenchClass[];
  /** Why a class is not measured. */
  readonly left: Readonly<Partial<Record<BenchClass, string>>>;
  /** A field by which another payload differs, for mismatches. */
  readonly changedField: string | null;
}

export interface Choices {
  /** Default: the first one. */
  readonly operation?: string | undefined;
  /** A/A: what the others are compared with is measured twice. */
  readonly again: boolean;
}

export function contenderOf(target: Target, { operation: chosen, again }: Choices): Contender {
  const { file } = target;
  const names = Object.keys(file.operations);
  const name = chosen ?? names[0] ?? "";
  const operation = file.operations[name];
  if (operation === undefined) {
    throw new Failure("usage", `--operation: found ${name}, expected one of ${file.name}: ${names.join(", ")}`);
  }
  const hasBaseline = operation.baseline !== undefined || file.start?.baseline !== undefined;
  const baseline = hasBaseline ? `${name} (baseline)` : null;
  const large = operation.large === undefined ? null : `${name} (large)`;
  const left = leftOut(target, operation, hasBaseline, again);
  const all: readonly BenchClass[] = ["baseline", "again", "first-use", "replay", "conflict", "mismatch"];
  const operations = {
    [name]: operation,
    ...(baseline === null ? {} : { [baseline]: requestedAs(operation, operation.baseline) }),
    ...(large === null ? {} : { [large]: requestedAs(operation, operation.large) }),
  };
  return {
    target: { ...target, file: { ...file, operations } },
    operation: name,
    baseline,
    large,
    caller: Object.keys(file.callers)[0] ?? "",
    comparedWith: hasBaseline ? "baseline" : "replay",
    classes: all.filter((one) => left[one] === undefined),
    left,
    changedField: changeableFields(operation)[0] ?? null,
  };
}

type Way = NonNullable<TargetOperation["baseline"]> & NonNullable<TargetOperation["large"]>;

/** The same operation, asked for in another way. */
function requestedAs(operation: TargetOperation, { path, headers, body }: Partial<Way> = {}): TargetOperation {
  const { request } = operation;
  return {
    ...operation,
    request: {
      ...request,
      path: path ?? request.path,
      headers: { ...request.headers, ...headers },
      body: body === undefined ? request.body : variedText(plainText(operation), body),
    },
  };
}

function leftOut(
  { file, contract }: Target,
  operation: TargetOperation,
  hasBaseline: boolean,
  again: boolean,
): Partial<Record<BenchClass, string>> {
  const left: Partial<Record<BenchClass, string>> = {};
  if (!hasBaseline) {
    left.baseline = `${file.name} names no way around its key layer (baseline): first use is compared with replay`;
  }
  if (!again) left.again = "measured with --aa only";
  const { answers } = contract.inFlight;
  if (operation.slow === undefined) {
    left.conflict = "the target file names no way to make the handler slow, so that nothing can be caught in flight";
  } else if (answers === "undocumented") {
    left.conflict = "the contract leaves the answer while in flight undocumented";
  } else if (answers.length === 0) {
    left.conflict = "by the contract duplicates in flight are held back and never refused";
  } else if (contract.leaseMs !== "undocumented" && contract.leaseMs <= operation.slow.ms) {
    left.conflict = "the lease is over before the slow handler is";
  }
  if (contract.fingerprint === "none") left.mismatch = "by the contract only the key counts, not the payload";
  else if (contract.mismatch === "undocumented")
    left.mismatch = "the contract leaves the answer to a mismatch undocumented";
  else if (changeableFields(operation).length === 0)
    left.mismatch = "the target file names no field that can be changed (outcome)";
  return left;
}
