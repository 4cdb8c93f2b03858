/**
 * A plan's names made unique to a run, so that a plan can be played again against a target that remembers.
 * The same run, scenario, name and try always give the same texts.
 */
import { hash } from "node:crypto";

/** What a planned operation is called in this run. */
export interface Named {
  /** For people: `retry-after-answer/r3`. */
  readonly operation: string;
  /** For the books. */
  readonly reference: string;
  readonly uuid: string;
}

export function named(runId: string, scenario: string, name: string, tries: number): Named {
  const digest = hash("sha256", JSON.stringify([runId, scenario, name, tries]), "hex");
  return {
    operation: `${scenario}/${name}${tries > 1 ? `~${tries}` : ""}`,
    reference: `${runId}-${digest.slice(32, 48)}`,
    uuid: uuidOf(digest),
  };
}

/** A version 4 UUID (RFC 9562) from a digest, in hex, instead of from chance. */
function uuidOf(digest: string): string {
  const variant = "89ab"[Number.parseInt(digest.charAt(16), 16) % 4];
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-4${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** Text unique to a run and scenario, for keys whose form the plan decides. */
export function uniqueText(runId: string, scenario: string): string {
  return hash("sha256", JSON.stringify([runId, scenario]), "hex").slice(0, 12);
}
