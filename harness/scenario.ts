/**
 * A scenario is a named situation. It turns a seed into a plan: steps that are data, so that the same seed
 * gives the same plan and a failing one can be played again.
 */
import type { Contract } from "./contract.ts";
import type { Gate } from "./event.ts";
import type { FaultStep, LinkName } from "./fault.ts";
import type { InvariantId } from "./invariants/list.ts";
import type { Condition, Payload } from "./operation.ts";
import type { Random } from "./random.ts";

export interface Scenario {
  /** The file's name. */
  readonly id: string;
  readonly title: string;
  /** What the target is expected to do, as one sentence. */
  readonly requirement: string;
  /** Looking at none of these makes the scenario inconclusive. */
  readonly exercises: readonly InvariantId[];
  /** Mostly waits, disturbs nobody: played beside the others. */
  readonly beside?: boolean;
  /** Has a fault that others would feel: played on the copy of the target that is there for that, one at a time. */
  readonly faulty?: boolean;
  /** A quick run of everything plays only some of these, and the seed says which. */
  readonly inTurn?: boolean;
  /** Some of its faults strike a link. Only for scenarios that are `faulty`. */
  readonly usesLinks?: boolean;
  plan(context: PlanContext): Plan;
}

/** The steps, or why this target cannot be put into the situation, or what the lab lacks for it. */
export type Plan = readonly Step[] | { readonly skip: string } | { readonly lacking: string };

export interface PlanContext {
  readonly random: Random;
  /** Only some of the scenarios with faults are played, and the seed says which. */
  readonly takesTurns: boolean;
  readonly seed: number;
  /** How often a race is repeated. */
  readonly rounds: number;
  /** How often a situation without a race is repeated. */
  readonly samples: number;
  /** Sizes of bursts, ascending. */
  readonly bursts: readonly [number, ...number[]];
  /** Gates that this target can be raced through, the plain one first. */
  readonly gates: readonly [Gate, ...Gate[]];
  readonly replicas: number;
  /** The harness can stop and continue the target's processes. */
  readonly canPause: boolean;
  readonly canKill: boolean;
  /** A replica can be started again with a clock that is wrong. */
  readonly canSkewClock: boolean;
  /** The target file describes another version of the target. */
  readonly canRedeploy: boolean;
  /** The lab's database is the target's. */
  readonly hasDatabase: boolean;
  readonly canCrashDatabase: boolean;
  /** The lab's processor is the target's. */
  readonly hasProcessor: boolean;
  /** Links that faults can touch, and for each of the others why they cannot. */
  readonly links: Readonly<Record<LinkName, LinkState>>;
  readonly callers: readonly [string, ...string[]];
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  readonly contract: Contract;
}

/** `absent`: the target has no such link. `lacking`: the lab has nothing to put into it, in words. */
export type LinkState = "there" | "absent" | { readonly lacking: string };

/** What a scenario may know of one of the target's operations. */
export interface Endpoint {
  readonly name: string;
  /** JSON pointers of the fields that must be fingerprinted and for which another valid value is known. */
  readonly fields: readonly string[];
  /** Names of the spellings that mean the same request. */
  readonly spellings: readonly string[];
  /** How many pairs of alike but different requests the target lists. */
  readonly pairs: number;
  readonly hasInvalid: boolean;
  readonly hasBody: boolean;
  readonly query: string | null;
  readonly slowMs: number | null;
  readonly canFail: boolean;
  /** Phases at which faults can be placed, in order. */
  readonly phases: readonly string[];
  /** It calls the processor. */
  readonly isDownstream: boolean;
}

/** Healed in a `finally`. */
interface During {
  readonly do: "during";
  readonly fault: FaultStep;
  readonly steps: readonly Step[];
}

export type Step =
  /** One after another. */
  | { readonly do: "send"; readonly attempts: readonly AttemptPlan[]; readonly only?: "begun" }
  /** Released in one tick. Repeated under fresh names when nothing overlapped, if nothing in it was sent before. */
  | {
      readonly do: "burst";
      readonly attempts: readonly AttemptPlan[];
      readonly gate: Gate;
      /** It is more than a race among its own attempts, and worth something even if they did not overlap. */
      readonly mayMiss?: true;
    }
  /** All started at once and not waited for; `join` does that. `final`: clients that persist, as below. */
  | { readonly do: "start"; readonly attempts: readonly AttemptPlan[]; readonly until?: "final" }
  | { readonly do: "join" }
  /** Clients that repeat their attempt until they have a final answer, obeying Retry-After; all side by side. */
  | { readonly do: "persist"; readonly attempts: readonly AttemptPlan[]; readonly only?: "begun" | "unanswered" }
  | During
  /**
   * Strikes of one kind, one after another until one of them finds nothing left to strike; the first one has to. How many there are is for
   * the target to show: the `only` of later steps leaves out what was not played. `begun`: operations of which an
   * attempt was made; `unanswered`: those of them that have no final answer yet.
   */
  | { readonly do: "while-struck"; readonly strikes: readonly During[] }
  | { readonly do: "wait"; readonly ms: number }
  /** Until every fault around has struck; not for ever, since one that never strikes says so itself. */
  | { readonly do: "until-struck" }
  /** Read the books now. */
  | { readonly do: "observe" };

/**
 * An attempt as planned. Names are the plan's own; the player makes them unique to the run.
 * In `key`, `${uuid:NAME}` becomes a UUID of that name and `${unique}` a text unique to the run.
 */
export interface AttemptPlan {
  /** Which operation this is an attempt of. */
  readonly operation: string;
  readonly endpoint: string;
  readonly caller: string;
  /** Default: a UUID named after the operation. Null: sent without a key. */
  readonly key?: string | null;
  /** Default: named after the operation. */
  readonly reference?: string;
  readonly payload?: Payload;
  readonly withQuery?: boolean;
  /** Default: replicas in turn. */
  readonly replica?: number;
  readonly condition?: Condition;
  /** Why the key is not an ordinary one. */
  readonly malformed?: "empty" | "too-long" | "charset";
  /** Sends the contract's internal headers along. */
  readonly forged?: boolean;
  /** The client hangs up this long after the request has left. */
  readonly abortAfterMs?: number;
  /** Through the link to the replica that a fault of the client's network touches. */
  readonly throughLink?: boolean;
}
