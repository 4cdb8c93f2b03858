/** The published JSON Schemas, made from the schemas that read and write. `npm run schemas` writes them. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { benchSchema } from "./bench/bench-report.ts";
import { reportSchema } from "./report.ts";
import { targetSchema } from "./target.ts";

/** Not compiled: they stay beside their sources. */
const FOLDER = join(import.meta.dirname, "..", "..", "harness");

export interface PublishedSchema {
  readonly path: string;
  readonly text: string;
}

export function publishedSchemas(): readonly PublishedSchema[] {
  return [
    published("target", targetSchema, "input", "A target of Idemproof: an API under test"),
    published("report", reportSchema, "output", "A report of Idemproof"),
    published("bench", benchSchema, "output", "A bench of Idemproof"),
  ];
}

/** Draft 7, which editors understand. Of a target: what a file may hold, before defaults are filled in. */
function published(name: string, schema: z.ZodType, io: "input" | "output", title: string): PublishedSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, target: "draft-7" });
  const document = { $schema, title, ...rest };
  return { path: join(FOLDER, `${name}.schema.json`), text: `${JSON.stringify(document, null, 2)}\n` };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const { path, text } of publishedSchemas()) writeFileSync(path, text);
}
