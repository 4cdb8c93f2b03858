/**
 * Reads target.yaml. Every mistake is reported with its line and column, what was found and what was
 * expected, and all of them at once, so that a file is put right in one go.
 */
import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Document, isNode, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { extendContract } from "./contract.ts";
import { contracts } from "./contracts/list.ts";
import { Failure, messageOf } from "./fail.ts";
import { outcomePointers } from "./payload.ts";
import { type Target, type TargetFile, targetSchema } from "./target.ts";

/** What the lab puts in place of `${name}` in `start.env` and `start.command`. */
export const LAB_NAMES = ["port", "http2Port", "postgres", "redis", "replica"] as const;

const FILE_BYTES_MAX = 1_048_576;

interface Complaint {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Throws a `usage` failure that lists every mistake. A directory stands for the target.yaml inside it. */
export async function readTarget(path: string): Promise<Target> {
  const { text, file } = await readText(path);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  if (document.errors.length > 0) {
    throw complaintsAsFailure(
      file,
      document.errors.map((error) => `${position(lines, error.pos[0])} ${error.message}`),
    );
  }
  return parseTarget(document.toJS({ maxAliasCount: 100 }), dirname(resolve(file)), (complaints) =>
    complaintsAsFailure(
      file,
      complaints.map(({ path: at, message }) => `${position(lines, offsetOf(document, at))} ${message}`),
    ),
  );
}

/** The same from an object: for `--url` and for files written in TypeScript. */
export function parseTarget(
  input: unknown,
  directory: string,
  failureOf: (complaints: readonly Complaint[]) => Failure,
): Target {
  const parsed = targetSchema.safeParse(input, { reportInput: true });
  if (!parsed.success) throw failureOf(parsed.error.issues.flatMap((issue) => complaintsOf(issue, input)));
  const file = parsed.data;
  const profile = contracts.find(({ id }) => id === (file.contract.extends ?? "strict"));
  const complaints = [...nameComplaints(file), ...operationComplaints(file)];
  if (profile === undefined) {
    complaints.push({
      path: ["contract", "extends"],
      message: `found ${JSON.stringify(file.contract.extends)}, expected one of ${contracts.map(({ id }) => id).join(", ")}`,
    });
  }
  if (complaints.length > 0 || profile === undefined) throw failureOf(complaints);
  return { file, directory, contract: extendContract(profile, file.contract) };
}

async function readText(path: string): Promise<{ text: string; file: string }> {
  try {
    const found = await stat(path);
    const file = found.isDirectory() ? join(path, "target.yaml") : path;
    if ((await stat(file)).size > FILE_BYTES_MAX) {
      throw new Failure("usage", `${file}: found more than 1 MiB, expected a target file`);
    }
    return { text: await readFile(file, "utf8"), file };
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("usage", `${path}: the target file cannot be read (${messageOf(error)})`, { cause: error });
  }
}

function complaintsAsFailure(file: string, complaints: readonly string[]): Failure {
  const found = [...new Set(complaints)].map((complaint) => `  ${file}:${complaint}`);
  return new Failure("usage", `${file}: ${found.length} mistake(s) in the target file\n${found.join("\n")}`);
}

function position(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${Math.max(line, 1)}:${Math.max(col, 1)}:`;
}

/** Where the node at a path begins; for a missing one, the nearest parent that is there. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return isNode(document.contents) ? (document.contents.range?.[0] ?? 0) : 0;
}

/** One mistake as `at: found …, expected …`. Of a union, the mistakes of the form that came nearest. */
function complaintsOf(issue: z.core.$ZodIssue, input: unknown, base: readonly PropertyKey[] = []): Complaint[] {
  const path = [...base, ...issue.path];
  const at = path.length === 0 ? "" : `${path.map(String).join(".")}: `;
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((name) => ({
        path: [...path, name],
        message: `${at}found the unknown name ${JSON.stringify(name)}${suggestion(name, path)}`,
      }));
    case "invalid_union": {
      const nearest = [...issue.errors].sort((one, other) => depth(other) - depth(one))[0] ?? [];
      const isDeep = depth(nearest) > 0;
      if (isDeep) return nearest.flatMap((inner) => complaintsOf(inner, input, path));
      const forms = issue.errors.map((errors) => errors.map(expectation).join(" and ")).filter(Boolean);
      return [
        { path, message: `${at}found ${found(valueIn(input, path))}, expected ${[...new Set(forms)].join(", or ")}` },
      ];
    }
    case "custom":
      return [{ path, message: `${at}${issue.message}` }];
    default:
      return [{ path, message: `${at}found ${found(valueIn(input, path))}, expected ${expectation(issue)}` }];
  }
}

function depth(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map((issue) => issue.path.length + (issue.code === "unrecognized_keys" ? 1 : 0)));
}

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "record"
        ? "an object"
        : `${/^[aeio]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
    case "invalid_value":
      return issue.values.map((value) => JSON.stringify(value)).join(" or ");
    case "too_small":
      return `at least ${issue.minimum}${issue.origin === "array" ? " element(s)" : ""}`;
    case "too_big":
      return `at most ${issue.maximum}${issue.origin === "array" ? " element(s)" : ""}`;
    case "invalid_format":
      return issue.format === "regex" ? issue.message : `a ${issue.format}`;
    default:
      return issue.message;
  }
}

function found(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function valueIn(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const name of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[name];
  }
  return value;
}

/** The nearest known name at the top level, for a slip of the pen. */
function suggestion(name: string, path: readonly PropertyKey[]): string {
  if (path.length > 0) return "";
  const known = [
    "name",
    "start",
    "urls",
    "http2",
    "arrival",
    "callers",
    "operations",
    "contract",
    "effects",
    "records",
  ];
  const near = known.find((word) => word.startsWith(name.slice(0, 3)));
  return `, expected one of ${known.join(", ")}${near === undefined ? "" : `; did you mean ${near}?`}`;
}

/** `${…}` that nobody fills in would reach the target as it stands. */
function nameComplaints({ start, http2 }: TargetFile): Complaint[] {
  if (start === undefined) {
    return http2 === "${http2Port}"
      ? [
          {
            path: ["http2"],
            message: "http2: found ${http2Port}, expected URLs, since the lab does not start this target",
          },
        ]
      : [];
  }
  const texts: [PropertyKey[], string][] = [
    [["start", "command"], start.command],
    ...Object.entries(start.env).map(([name, value]): [PropertyKey[], string] => [["start", "env", name], value]),
  ];
  return texts.flatMap(([path, text]) =>
    [...text.matchAll(/\$\{(\w+)\}/g)]
      .filter(([, name]) => !(LAB_NAMES as readonly string[]).includes(name ?? ""))
      .map(([whole]) => ({
        path,
        message: `${path.map(String).join(".")}: found ${whole}, expected one of ${LAB_NAMES.map((name) => `\${${name}}`).join(", ")}`,
      })),
  );
}

function operationComplaints({ operations, effects }: TargetFile): Complaint[] {
  return Object.entries(operations).flatMap(([name, operation]) => {
    const complaints: Complaint[] = [];
    const at = ["operations", name];
    const { body, path } = operation.request;
    const text = path + (typeof body === "string" ? body : JSON.stringify(body ?? ""));
    if (effects && !text.includes("${operation}")) {
      complaints.push({
        path: [...at, "request"],
        message: `operations.${name}.request: found no \${operation} in path or body, expected it where the effects' column \`operation\` takes its value from`,
      });
    }
    for (const pointer of outcomePointers(operation)) {
      if (typeof body === "object" && !hasPointer(body, pointer)) {
        complaints.push({
          path: [...at, "outcome"],
          message: `operations.${name}.outcome: found ${pointer}, expected a field of request.body`,
        });
      }
    }
    return complaints;
  });
}

function hasPointer(body: unknown, pointer: string): boolean {
  return (
    valueIn(
      body,
      pointer
        .split("/")
        .slice(1)
        .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~")),
    ) !== undefined
  );
}
