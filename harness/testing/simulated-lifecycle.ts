/**
 * The lifecycle of a key, as the reference has it, each phase with the defects that it can have. Every store
 * access is a statement of its own, so that anything can happen between two of them.
 *
 *   key → fingerprint → claim → decide → (execute → complete | replay | refuse)
 */
import type { Effect } from "../event.ts";
import type { HttpRequest, Micros } from "../operation.ts";
import type { Random } from "../random.ts";
import { accepted, invalidOrder, problem, REPLAYED_HEADER, unavailable, withHeader } from "./simulated-answers.ts";
import type { Behaviour, Defect } from "./simulated-defects.ts";
import type { Liberties } from "./simulated-liberties.ts";
import { type Order, orderOf } from "./simulated-order.ts";
import type { Pace } from "./simulated-pace.ts";
import type { SimulatedReplica } from "./simulated-replica.ts";
import { failsOnPurpose, isWellFormed, sentKeyOf, slownessMs, type Work, workOf } from "./simulated-request.ts";
import type { Claim, Claiming, StoredAnswer, StoredRecord } from "./simulated-store.ts";
import { Bell, type Process, type VirtualTime } from "./virtual-time.ts";

const WORK_MS = 20;
/** Between two looks at the key of a held duplicate. */
const HELD_MS = 15;
const CONFLICT_AFTER_COMPLETION_MS = 150;
const ABSURD_RETRY_AFTER_SECONDS = 86_400;

/** Defects with which a holder finishes whatever became of its claim. */
const UNFENCED: readonly Defect[] = ["check-then-act", "takeover-without-fencing", "cleanup-deletes-live-claim"];

type Held = { readonly claim: Claim } | { readonly answer: StoredAnswer | null };
type Seen = { readonly seen: StoredRecord; readonly seenAt: Micros };

export interface LifecycleOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly pace: Pace;
  readonly behaviour: Behaviour;
  readonly liberties: Liberties;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly ledger: Effect[];
}

export class SimulatedLifecycle {
  readonly #options: LifecycleOptions;
  readonly #lockFreed = new Bell();
  #isLockTaken = false;
  #effects = 0;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** Null: nothing is answered, since nobody waits any more. */
  *answer(at: SimulatedReplica, request: HttpRequest, isHungUp: () => boolean): Process<StoredAnswer | null> {
    const key = sentKeyOf(request);
    if (key === null && !this.#has("missing-key-executes")) return problem(400, "key-missing");
    const skips = this.#has("marker-skips-key-layer") && isMarked(request);
    if (key === null || skips) return yield* this.#executeWithoutKey(at, request);
    if (!isWellFormed(key) && !this.#has("malformed-key-accepted")) return problem(400, "key-malformed");
    const work = workOf(request, key, isHungUp, this.#options.behaviour);
    if (work.order === null && this.#options.liberties.invalid === "refused-first") return invalidOrder();
    if (!this.#has("one-lock-for-all")) return yield* this.#claimAndExecute(at, work);
    yield* this.#takeLock();
    const answer = yield* this.#claimAndExecute(at, work);
    this.#freeLock();
    return answer;
  }

  *#claimAndExecute(at: SimulatedReplica, work: Work): Process<StoredAnswer | null> {
    const held = yield* this.#claimOrAnswer(at, work);
    const answer = "answer" in held ? held.answer : yield* this.#execute(at, work, held.claim);
    if (answer === null || !this.#has("marker-echoed") || !isMarked(work.request)) return answer;
    return withHeader(answer, REPLAYED_HEADER, "true");
  }

  /** The claim, or what is answered without one: a replay, a conflict, a mismatch. */
  *#claimOrAnswer(at: SimulatedReplica, work: Work): Process<Held> {
    for (;;) {
      if (this.#isDropped(work)) return { answer: null };
      const result = yield* this.#claim(at, work);
      if ("claim" in result) return result;
      const { seen, seenAt } = result;
      switch (this.#decide(seen, work, seenAt)) {
        case "mismatch":
          return { answer: yield* this.#refuse(at, work, seen) };
        case "replay":
          return { answer: this.#replay(seen.answer) };
        case "conflict":
          if (this.#has("duplicate-hangs")) yield new Bell();
          if (this.#options.liberties.duplicates === "conflict") {
            return { answer: this.#inFlight(seen.leaseUntil - seenAt) };
          }
          yield* at.work(HELD_MS * 1000);
          break;
        case "take-over": {
          const claim = yield* this.#takeOver(at, work, seen);
          if (claim !== null) return { claim };
        }
      }
    }
  }

  *#claim(at: SimulatedReplica, work: Work): Process<{ readonly claim: Claim } | Seen> {
    if (this.#has("check-then-act")) {
      const seen = yield* at.statement(() => at.store.find(work));
      if (seen !== null) return { seen, seenAt: this.#now };
      return { claim: yield* at.statement(() => at.store.put(this.#claiming(work), 1, this.#now)) };
    }
    return yield* at.statement(() => ({
      ...at.store.claim(this.#claiming(work), this.#now),
      seenAt: this.#now,
    }));
  }

  #claiming({ scope, key, fingerprint, request }: Work): Claiming {
    const { time, leaseMs, retentionMs } = this.#options;
    const keptMs = this.#has("retention-too-short") ? retentionMs / 4 : retentionMs;
    return {
      scope,
      key,
      fingerprint,
      body: request.body,
      leaseUntil: this.#has("claim-without-lease") ? Infinity : time.now + leaseMs * 1000,
      expiresAt: this.#has("retention-without-end") ? Infinity : time.now + keptMs * 1000,
    };
  }

  #decide(record: StoredRecord, { fingerprint }: Work, now: Micros): "mismatch" | "replay" | "conflict" | "take-over" {
    const isLive = record.state === "in_progress" && record.leaseUntil > now;
    const isForgotten = record.expiresAt <= now && this.#options.liberties.expiry === "exact";
    if (isForgotten && !isLive) return "take-over";
    const isOther = record.fingerprint !== fingerprint;
    if (isOther) return isLive && this.#options.liberties.mismatchInFlight === "conflict" ? "conflict" : "mismatch";
    if (record.state === "completed") return this.#countsAsInFlight(record, now) ? "conflict" : "replay";
    return isLive ? "conflict" : "take-over";
  }

  #countsAsInFlight({ completedAt }: StoredRecord, now: Micros): boolean {
    const until = (completedAt ?? 0) + CONFLICT_AFTER_COMPLETION_MS * 1000;
    return this.#has("conflict-after-completion") && now < until;
  }

  *#takeOver(at: SimulatedReplica, work: Work, { token }: StoredRecord): Process<Claim | null> {
    return yield* at.rowStatement(work, () => {
      const now = this.#now;
      if (this.#has("takeover-unconditional")) return at.store.put(this.#claiming(work), token + 1, now);
      return at.store.takeOver(this.#claiming(work), token, now);
    });
  }

  *#refuse(at: SimulatedReplica, work: Work, { body }: StoredRecord): Process<StoredAnswer> {
    const answer = problem(422, "key-reused", this.#has("rejection-leaks") ? { first: body } : {});
    const { order } = work;
    if (this.#has("rejection-overwrites-record")) {
      yield* at.rowStatement(work, () => at.store.change(work, { state: "completed", answer }));
    }
    if (this.#has("ghost-effect") && order !== null) {
      yield* at.statement(() => this.#options.ledger.push(this.#effectOf(order)));
    }
    return answer;
  }

  #replay(answer: StoredAnswer | null): StoredAnswer {
    if (answer === null) throw new Error("a completed record has an answer");
    const { location: _, ...others } = answer.headers;
    const kept = this.#has("original-headers-lost") ? { ...answer, headers: others } : answer;
    return this.#has("replay-unmarked") ? kept : withHeader(kept, REPLAYED_HEADER, "true");
  }

  /** The wait that is promised is the rest of the lease. */
  #inFlight(leaseLeft: Micros): StoredAnswer {
    if (this.#has("duplicate-gets-server-error")) return problem(500, "internal-error");
    if (this.#has("duplicate-gets-made-up-success")) return { status: 201, headers: {}, body: "{}" };
    if (this.#has("conflict-undocumented")) return problem(425, "too-early");
    const answer = problem(409, "request-in-flight");
    if (this.#has("conflict-without-retry-after")) return answer;
    const isAbsurd = this.#has("conflict-with-absurd-retry-after");
    const seconds = isAbsurd ? ABSURD_RETRY_AFTER_SECONDS : Math.max(1, Math.ceil(leaseLeft / 1_000_000));
    return withHeader(answer, "retry-after", String(Number.isFinite(seconds) ? seconds : 1));
  }

  *#execute(at: SimulatedReplica, work: Work, claim: Claim): Process<StoredAnswer | null> {
    const { order, request } = work;
    if (order === null) return yield* this.#settle(at, work, claim);
    if (failsOnPurpose(request)) {
      if (this.#has("failure-after-effect"))
        yield* at.statement(() => this.#options.ledger.push(this.#effectOf(order)));
      yield* at.rowStatement(claim, () => this.#release(at, claim));
      return unavailable();
    }
    yield* this.#work(at, request);
    if (this.#isDropped(work)) return null;
    return yield* this.#settle(at, work, claim);
  }

  /** A failure before any effect frees the key; only the holder may free it. */
  #release({ store }: SimulatedReplica, claim: Claim): void {
    if (!store.isHeldBy(claim)) return;
    if (this.#has("server-error-stored")) store.change(claim, { state: "completed", answer: unavailable() });
    else if (this.#options.liberties.released === "forgets") store.remove(claim);
    else store.change(claim, { state: "failed_retryable" });
  }

  *#settle(at: SimulatedReplica, work: Work, claim: Claim): Process<StoredAnswer | null> {
    const answer = yield* this.#complete(at, work, claim);
    if (answer !== null) return answer;
    // The new holder has finished, or is about to: this client gets what a retry would get.
    const again = yield* this.#claimOrAnswer(at, work);
    if ("answer" in again) return again.answer;
    yield* at.rowStatement(work, () => this.#release(at, again.claim));
    return this.#inFlight(0);
  }

  /**
   * One transaction: the effect and the answer become durable together, or neither does. Null: the claim went
   * to another attempt while this one worked.
   */
  *#complete(at: SimulatedReplica, work: Work, claim: Claim): Process<StoredAnswer | null> {
    const { order } = work;
    const effect = yield* at.statement(() => (order === null ? null : this.#effectOf(order)));
    const answer = effect === null ? invalidOrder() : this.#accepted(effect);
    const isHeld = yield* at.rowStatement(claim, () => this.#lockHeld(at, claim));
    if (!isHeld && !this.#has("zombie-overwrites-answer")) return null;
    if (!isHeld) return yield* at.rowStatement(claim, () => this.#overwrite(at, claim, answer));
    yield* at.statement(() => {
      if (effect !== null && !this.#has("lost-effect")) this.#options.ledger.push(effect);
      this.#finish(at, work, claim, answer);
      at.store.unlock(claim);
    });
    return answer;
  }

  #lockHeld({ store }: SimulatedReplica, claim: Claim): boolean {
    const isUnfenced = UNFENCED.some((defect) => this.#has(defect));
    const hasToken = this.#has("takeover-unconditional") && store.find(claim)?.token === claim.token;
    const isHeld = isUnfenced || hasToken || store.isHeldBy(claim);
    if (isHeld) store.lock(claim);
    return isHeld;
  }

  #overwrite({ store }: SimulatedReplica, claim: Claim, answer: StoredAnswer): StoredAnswer {
    store.change(claim, { answer });
    return answer;
  }

  #finish({ store }: SimulatedReplica, work: Work, claim: Claim, answer: StoredAnswer): void {
    if (this.#has("record-left-in-progress") && work.order !== null) return;
    if (this.#has("validation-error-released") && work.order === null) {
      store.remove(claim);
      return;
    }
    store.change(claim, { state: "completed", answer, completedAt: this.#now });
  }

  *#executeWithoutKey(at: SimulatedReplica, request: HttpRequest): Process<StoredAnswer> {
    const order = orderOf(request.body);
    if (order === null) return invalidOrder();
    if (failsOnPurpose(request)) return unavailable();
    yield* this.#work(at, request);
    const effect = this.#effectOf(order);
    yield* at.statement(() => this.#options.ledger.push(effect));
    return this.#accepted(effect);
  }

  *#work(at: SimulatedReplica, request: HttpRequest): Process {
    yield* at.work(this.#options.pace.work(WORK_MS + slownessMs(request)));
  }

  #effectOf({ reference, ...columns }: Order): Effect {
    this.#effects += 1;
    return { operation: reference, columns: { id: String(this.#effects), ...columns } };
  }

  #accepted({ operation, columns }: Effect): StoredAnswer {
    const isWrong = this.#has("wrong-amount-answered");
    const told = isWrong ? { ...columns, amount: `${columns["amount"]}0` } : columns;
    return accepted({ operation, columns: told }, this.#options.random.below(2 ** 32));
  }

  *#takeLock(): Process {
    while (this.#isLockTaken) yield this.#lockFreed;
    this.#isLockTaken = true;
  }

  #freeLock(): void {
    this.#isLockTaken = false;
    this.#lockFreed.ring();
  }

  #isDropped({ isHungUp }: Work): boolean {
    return this.#options.liberties.hungUp === "dropped" && isHungUp();
  }

  get #now(): Micros {
    return this.#options.time.now;
  }

  #has(defect: Defect): boolean {
    return this.#options.behaviour.has(defect);
  }
}

/** Does the request carry what only an answer should? */
function isMarked({ headers }: HttpRequest): boolean {
  return headers[REPLAYED_HEADER] !== undefined;
}
