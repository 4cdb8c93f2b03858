/**
 * A recipe is what a run has to be told again so that its plans come out the same: its target, its size, its
 * patience. It is recorded with the run and handed on to the report, where `idemproof replay` finds it. What a
 * caller proves itself with is never part of it and has to be given again.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { redacted, secretsOf } from "./secrets.ts";
import type { Target } from "./target.ts";

const source = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("file"),
    /** As it was given, so relative to the folder of the run; null: the reference that comes with the package. */
    path: z.string().nullable(),
  }),
  z.strictObject({
    kind: z.literal("direct"),
    urls: z.array(z.string()),
    request: z.string(),
    /** As it was given: text, or @file. */
    body: z.string().nullable(),
    success: z.array(z.string()).nullable(),
    outcome: z.array(z.string()),
    contract: z.string().nullable(),
    /** Names of the caller's headers. Their values are secrets. */
    headers: z.array(z.string()),
    /** Options whose value holds a secret, which is why it is missing above. */
    withheld: z.array(z.enum(["url", "body"])),
  }),
]);

export const recipeSchema = z.strictObject({
  source,
  /** Of what the target's description says: plans are made of it, and of another one they come out otherwise. */
  digest: z.string(),
  size: z.strictObject({
    seed: z.int(),
    rounds: z.int(),
    samples: z.int(),
    concurrency: z.int(),
    takesTurns: z.boolean().optional(),
  }),
  timeoutMs: z.int(),
  /** The line that replays a violation of the run, but for the violation's id. */
  command: z.string(),
});

export type Recipe = z.output<typeof recipeSchema>;
export type Source = Recipe["source"];
export type DirectSource = Extract<Source, { kind: "direct" }>;

/** Equal for equal descriptions, whatever the callers' secrets are and wherever a running target listens. */
export function digestOf({ file, contract }: Target): string {
  const urls = file.urls?.length ?? 0;
  const text = JSON.stringify({ ...file, name: "", urls, contract });
  return createHash("sha256")
    .update(redacted(text, secretsOf(file)))
    .digest("hex");
}
