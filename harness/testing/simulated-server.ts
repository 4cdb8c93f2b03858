/**
 * A simulated API: replicas with one store of key records and one ledger, in virtual time. Without defects it
 * keeps every promise of the strict contract, in every order that messages, statements and pauses can take.
 * With a defect it is wrong in that one way. It is what keeps the judge honest: the first may never be
 * accused, the second must always be.
 */
import type { Contract } from "../contract.ts";
import type { Effect, KeyRecord } from "../event.ts";
import type { HttpRequest, Responded } from "../operation.ts";
import type { Random } from "../random.ts";
import { responded } from "./simulated-answers.ts";
import type { Behaviour } from "./simulated-defects.ts";
import type { Liberties } from "./simulated-liberties.ts";
import { SimulatedLifecycle } from "./simulated-lifecycle.ts";
import type { Pace } from "./simulated-pace.ts";
import { SimulatedReplica } from "./simulated-replica.ts";
import { SimulatedStore } from "./simulated-store.ts";
import type { Process, VirtualTime } from "./virtual-time.ts";

/** What the server does where its contract says nothing: no run outlasts its retention. */
const LEASE_MS = 1_000;
const RETENTION_MS = 86_400_000;
const CLEAN_UP_EVERY_MS = 200;
const LIVE_CLAIM_DROPPED_AFTER_MS = 100;

export interface ServerOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly pace: Pace;
  readonly replicas: number;
  readonly contract: Contract;
  readonly behaviour: Behaviour;
  readonly liberties: Liberties;
}

export class SimulatedServer {
  readonly #time: VirtualTime;
  readonly #pace: Pace;
  readonly #behaviour: Behaviour;
  readonly #lifecycle: SimulatedLifecycle;
  readonly #replicas: readonly SimulatedReplica[];
  readonly #ledger: Effect[] = [];
  #requests = 0;

  constructor({ time, random, pace, replicas, contract, behaviour, liberties }: ServerOptions) {
    this.#time = time;
    this.#pace = pace;
    this.#behaviour = behaviour;
    this.#lifecycle = new SimulatedLifecycle({
      time,
      random,
      pace,
      behaviour,
      liberties,
      leaseMs: contract.leaseMs === "undocumented" ? LEASE_MS : contract.leaseMs,
      retentionMs: contract.retentionMs === "undocumented" ? RETENTION_MS : contract.retentionMs,
      ledger: this.#ledger,
    });
    const shared = new SimulatedStore();
    const storeOf = () => (behaviour.has("process-local-store") ? new SimulatedStore() : shared);
    this.#replicas = Array.from({ length: replicas }, () => new SimulatedReplica(storeOf(), pace));
    for (const replica of this.#replicas) time.start(this.#clean(replica));
  }

  /** A request that has reached a replica, until its answer leaves; null: the handler was dropped. */
  *handle(replica: number, request: HttpRequest, isHungUp: () => boolean): Process<Responded | null> {
    const at = this.#replica(replica);
    yield* at.awake();
    const arrivedAt = this.#time.now;
    const answer = yield* this.#lifecycle.answer(at, request, isHungUp);
    if (answer === null) return null;
    this.#requests += 1;
    return responded(answer, this.#requests, arrivedAt, this.#time.now);
  }

  pause(replica: number): void {
    this.#replica(replica).pause();
  }

  resume(replica: number): void {
    this.#replica(replica).resume();
  }

  /** The ledger, at one moment. */
  *readEffects(): Process<readonly Effect[]> {
    yield this.#pace.statement();
    const effects = [...this.#ledger];
    yield this.#pace.statement();
    return effects;
  }

  /** The key records, at another. */
  *readRecords(): Process<readonly KeyRecord[]> {
    yield this.#pace.statement();
    const stores = new Set(this.#replicas.map(({ store }) => store));
    const records = [...stores].flatMap(({ records: all }) => [...all].map(({ key, state }) => ({ key, state })));
    yield this.#pace.statement();
    return records;
  }

  *#clean(replica: SimulatedReplica): Process {
    for (;;) {
      yield CLEAN_UP_EVERY_MS * 1000;
      yield* replica.statement(() => {
        const { now } = this.#time;
        replica.store.cleanUp(now);
        if (!this.#behaviour.has("cleanup-deletes-live-claim")) return;
        replica.store.dropClaimsBefore(now - LIVE_CLAIM_DROPPED_AFTER_MS * 1000);
      });
    }
  }

  #replica(number: number): SimulatedReplica {
    const found = this.#replicas[number % this.#replicas.length];
    if (found === undefined) throw new Error("the server has no replica");
    return found;
  }
}
