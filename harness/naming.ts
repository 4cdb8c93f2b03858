/**
 * A plan's names made unique to a run, so that a plan can be played again against a target that remembers.
 * The same run, scenario, name and try always give the same texts.
 */
import { createHash } from "node:crypto";

/** What a planned operation is called in this run. */
export interface Named {
  /** For people: `retry-after-answer/r3`. */
  readonly operation: string;
  /** For the books. */
  readonly reference: string;
  readonly uuid: string;
}

export function named(runId: string, scenario: string, name: string, tries: number): Named {
  const digest = createHash("sha256")
    .update(JSON.stringify([runId, scenario, name, tries]))
    .digest();
  return {
    operation: `${scenario}/${name}${tries > 1 ? `~${tries}` : ""}`,
    reference: `${runId}-${digest.subarray(16, 24).toString("hex")}`,
    uuid: uuidOf(digest),
  };
}

/** A version 4 UUID (RFC 9562) from a digest instead of from chance. */
function uuidOf(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Text unique to a run and scenario, for keys whose form the plan decides. */
export function uniqueText(runId: string, scenario: string): string {
  return createHash("sha256")
    .update(JSON.stringify([runId, scenario]))
    .digest("hex")
    .slice(0, 12);
}
