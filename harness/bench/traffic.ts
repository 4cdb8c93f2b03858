/**
 * From a slot of the schedule to the request that belongs there, and from its outcome to what it counts as. A
 * replay and a mismatch need a key that was used before and is still remembered; a conflict needs one that is in
 * flight, whose holder is a slow request that counts nowhere.
 */
import { AttemptBuilder, type BuiltAttempt } from "../attempt-builder.ts";
import { matchesAny } from "../evidence/answers.ts";
import type { Micros, Outcome } from "../operation.ts";
import { type Random, randomOf } from "../random.ts";
import type { AttemptPlan } from "../scenario.ts";
import type { Stage } from "../stage.ts";
import type { BenchClass } from "./bench-class.ts";
import type { Contender } from "./contender.ts";

export const BENCH_SCENARIO = "bench";
/** A key is used again only in this part of its retention: it must not be forgotten on the way. */
const REMEMBERED_SHARE = 0.5;
/** Keys to choose from; more say nothing more. */
const REMEMBERED_MAX = 5_000;

/** Places in the stage's list of URLs: where keyed requests go, and where those without a key. */
export interface ReplicaNumbers {
  readonly keyed: readonly number[];
  readonly baseline: readonly number[];
}

interface Used {
  readonly operation: string;
  readonly at: Micros;
}

export class Traffic {
  readonly #contender: Contender;
  readonly #builder: AttemptBuilder;
  readonly #random: Random;
  #replicas: ReplicaNumbers;
  readonly #rememberedMicros: Micros;
  #used: Used[] = [];
  #operations = 0;
  #turn = 0;

  constructor(contender: Contender, stage: Stage, replicas: ReplicaNumbers, seed: number) {
    const { retentionMs } = contender.target.contract;
    this.#contender = contender;
    this.#builder = new AttemptBuilder(stage, BENCH_SCENARIO);
    this.#random = randomOf(seed).fork(contender.target.file.name);
    this.#replicas = replicas;
    this.#rememberedMicros = retentionMs === "undocumented" ? Infinity : retentionMs * 1000 * REMEMBERED_SHARE;
  }

  /** From now on requests go elsewhere. */
  turnTo(replicas: ReplicaNumbers): void {
    this.#replicas = replicas;
  }

  get builder(): AttemptBuilder {
    return this.#builder;
  }

  /** A name for an operation that was never sent. */
  fresh(prefix: string): string {
    this.#operations += 1;
    return `${prefix}-${this.#operations}`;
  }

  /** The request of a class; null when no key is there that it could use. `holder` is the operation in flight. */
  plan(name: BenchClass, now: Micros, holder: string | null): AttemptPlan | null {
    const { comparedWith, changedField } = this.#contender;
    switch (name) {
      case "again":
        return this.plan(comparedWith, now, holder);
      case "baseline":
        return this.#baseline();
      case "first-use":
        return this.#keyed(this.fresh("first-use"));
      case "replay": {
        const used = this.#remembered(now);
        return used === null ? null : this.#keyed(used);
      }
      case "mismatch": {
        const used = this.#remembered(now);
        if (used === null || changedField === null) return null;
        return { ...this.#keyed(used), payload: { kind: "changed", field: changedField } };
      }
      case "conflict":
        return holder === null ? null : this.#keyed(holder);
    }
  }

  /** A first use whose answer is large; null: nobody knows how to ask for one. */
  large(): AttemptPlan | null {
    const { large } = this.#contender;
    return large === null ? null : { ...this.#keyed(this.fresh("large")), endpoint: large };
  }

  /** A slow request that keeps its key in flight. */
  holder(operation: string): BuiltAttempt {
    return this.#builder.build({ ...this.#keyed(operation), condition: "slow" });
  }

  /** From now on the key of this operation can be replayed. */
  remember(operation: string, at: Micros): void {
    this.#used.push({ operation, at });
    if (this.#used.length > 2 * REMEMBERED_MAX) this.#used = this.#used.slice(-REMEMBERED_MAX);
  }

  /** Is this the answer that the class is about? Anything else is judged, and not measured. */
  belongs(name: BenchClass, outcome: Outcome): boolean {
    const { target, operation, comparedWith } = this.#contender;
    if (outcome.kind !== "responded") return false;
    const { inFlight, mismatch, replay } = target.contract;
    const { success = [] } = target.file.operations[operation] ?? {};
    const isSuccess = success.includes(outcome.status);
    const isMarked =
      replay.marker !== null &&
      outcome.headers[replay.marker.header.toLowerCase()]?.toLowerCase() === replay.marker.value.toLowerCase();
    switch (name) {
      case "again":
        return this.belongs(comparedWith, outcome);
      case "baseline":
        return isSuccess;
      case "first-use":
        return isSuccess && !isMarked;
      case "replay":
        return (isSuccess || replay.statuses.includes(outcome.status)) && (replay.marker === null || isMarked);
      case "conflict":
        return inFlight.answers !== "undocumented" && matchesAny(inFlight.answers, outcome);
      case "mismatch":
        return mismatch !== "undocumented" && matchesAny(mismatch, outcome);
    }
  }

  #keyed(operation: string): AttemptPlan {
    const { operation: endpoint, caller } = this.#contender;
    return { operation, endpoint, caller, replica: this.#inTurn(this.#replicas.keyed) };
  }

  #baseline(): AttemptPlan | null {
    const { baseline, caller } = this.#contender;
    if (baseline === null) return null;
    const replica = this.#inTurn(this.#replicas.baseline);
    return { operation: this.fresh("baseline"), endpoint: baseline, caller, key: null, replica };
  }

  #remembered(now: Micros): string | null {
    const oldest = now - this.#rememberedMicros;
    const first = this.#used.findIndex(({ at }) => at >= oldest);
    if (first < 0) return null;
    if (first > 0) this.#used = this.#used.slice(first);
    return this.#used[this.#random.below(this.#used.length)]?.operation ?? null;
  }

  #inTurn(replicas: readonly number[]): number {
    this.#turn += 1;
    return replicas[this.#turn % replicas.length] ?? 0;
  }
}
