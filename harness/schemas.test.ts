import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Ajv } from "ajv";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { Failure } from "./fail.ts";
import { publishedSchemas } from "./schemas.ts";
import { parseTarget } from "./target-file/target-file.ts";

const [target = { path: "", text: "{}" }, report = { path: "", text: "{}" }] = publishedSchemas();
const validator = new Ajv({ allErrors: true, strict: false, validateFormats: false }).compile(JSON.parse(target.text));
let reference: Record<string, unknown> = {};

beforeAll(async () => {
  const file = join(dirname(target.path), "..", "targets", "reference", "target.yaml");
  reference = parse(await readFile(file, "utf8"), { merge: true }) as Record<string, unknown>;
});

test.each([target, report])(
  "the committed schema is the one that `npm run schemas` writes: $path",
  async ({ path, text }) => {
    expect(await readFile(path, "utf8")).toBe(text);
  },
);

test("the reference's file is valid by the published schema", () => {
  validator(reference);
  expect(validator.errors).toBeNull();
});

test("the published schema and the reader agree on what a small change does", () => {
  const values = [null, 5, "x", [], {}, [5], { x: 1 }, -1, true];
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(...values), (pick, value) => {
      const changed = structuredClone(reference);
      const places = placesIn(changed);
      const [holder, name] = places[pick % places.length] ?? [changed, "name"];
      (holder as Record<PropertyKey, unknown>)[name] = value;
      // The schema knows no rule that joins two places, so what it refuses is refused, and no more is known.
      if (!validator(changed)) expect(isTarget(changed)).toBe(false);
    }),
    { numRuns: 300 },
  );
});

test("an unknown name is refused by the published schema at every level", () => {
  for (const [holder] of placesIn(reference)) {
    if (Array.isArray(holder) || !("method" in holder || "sql" in holder || "command" in holder || "name" in holder))
      continue;
    (holder as Record<string, unknown>)["unheardOf"] = 1;
    expect(validator(reference)).toBe(false);
    delete (holder as Record<string, unknown>)["unheardOf"];
  }
});

function isTarget(input: unknown): boolean {
  try {
    parseTarget(input, ".", () => new Failure("usage", "no target"));
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

/** Every place in a document: what holds it, and its name there. */
function placesIn(value: object): [object, PropertyKey][] {
  return Object.entries(value).flatMap(([name, inner]): [object, PropertyKey][] => [
    [value, name],
    ...(typeof inner === "object" && inner !== null ? placesIn(inner) : []),
  ]);
}
