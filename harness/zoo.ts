/** The kill matrix: which invariants caught which broken target, held against what each target declares. */
import type { Result } from "./invariant.ts";

export interface ZooResult {
  readonly id: string;
  /** What it must violate, and nothing else. */
  readonly declared: readonly string[];
  readonly violated: readonly string[];
  readonly verdict: Result;
  readonly reasons: readonly string[];
}

export interface KillMatrix {
  readonly targets: readonly {
    readonly id: string;
    /** Every declared invariant was violated, and no other. */
    readonly caught: boolean;
    readonly declared: readonly string[];
    readonly violated: readonly string[];
    readonly missed: readonly string[];
    readonly undeclared: readonly string[];
  }[];
  readonly reference: {
    readonly accused: boolean;
    readonly violated: readonly string[];
    readonly verdict: Result;
    readonly reasons: readonly string[];
  };
}

export function killMatrix(targets: readonly ZooResult[], reference: ZooResult): KillMatrix {
  return {
    targets: targets.map(({ id, declared, violated }) => {
      const missed = declared.filter((invariant) => !violated.includes(invariant));
      const undeclared = violated.filter((invariant) => !declared.includes(invariant));
      const caught = violated.length > 0 && missed.length === 0 && undeclared.length === 0;
      return { id, caught, declared, violated, missed, undeclared };
    }),
    reference: {
      accused: reference.violated.length > 0,
      violated: reference.violated,
      verdict: reference.verdict,
      reasons: reference.reasons,
    },
  };
}

/** Is the harness to be trusted: all caught, the reference passed? */
export function zooVerdict({ targets, reference }: KillMatrix): boolean {
  return targets.every(({ caught }) => caught) && reference.verdict === "pass";
}
