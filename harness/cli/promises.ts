/** What a contract promises, field by field, in the words in which a target file would say it. */
import { stringify } from "yaml";
import type { Contract } from "../contract.ts";

export type Promises = Omit<Contract, "id" | "title" | "source" | "asOf">;

export function promisesOf({ id: _, title: __, source: ___, asOf: ____, ...promises }: Contract): Promises {
  return promises;
}

/** Lines such as `inFlight.answers  [409]`. */
export function promiseLines(promises: Promises): readonly string[] {
  const fields = Object.entries(promises).flatMap(([name, value]): [string, unknown][] =>
    GROUPS.has(name) && isMap(value)
      ? Object.entries(value).map(([inner, one]) => [`${name}.${inner}`, one])
      : [[name, value]],
  );
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${inYaml(value)}`);
}

const GROUPS: ReadonlySet<string> = new Set([
  "key",
  "scope",
  "replay",
  "inFlight",
  "stored",
] satisfies (keyof Promises)[]);

function inYaml(value: unknown): string {
  return stringify(plain(value), { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}

/** An answer of which nothing but its status counts is written as the status. */
function plain(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((one: unknown) => (isMap(one) && Object.keys(one).join() === "status" ? one["status"] : one));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
