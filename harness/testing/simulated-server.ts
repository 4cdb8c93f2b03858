/**
 * The lifecycle of a key, simulated: replicas with one store of key records and one ledger, in virtual time.
 * Without defects it keeps every promise of the strict contract, in every order that messages, statements
 * and pauses can take. With a defect it is wrong in that one way. It is what keeps the judge honest: the
 * first may never be accused, the second must always be.
 */
import type { Contract } from "../contract.ts";
import type { Effect, KeyRecord } from "../event.ts";
import type { HttpRequest, Micros, Responded } from "../operation.ts";
import type { Random } from "../random.ts";
import type { Behaviour, Defect } from "./simulated-defects.ts";
import { canonicalBody, ORDER_FIELDS, type Order, orderOf } from "./simulated-order.ts";
import type { Pace } from "./simulated-pace.ts";
import {
  type Claim,
  type Claiming,
  type KeyIdentity,
  SimulatedStore,
  type StoredAnswer,
  type StoredRecord,
} from "./simulated-store.ts";
import { Bell, type Process, type VirtualTime } from "./virtual-time.ts";

const REPLAYED_HEADER = "idempotency-replayed";
const KEY_CHARACTERS_MAX = 255;
const WORK_MS = 20;
const CLEAN_UP_EVERY_MS = 200;
/** The server tells times by a clock of its own. */
const CLOCK_OFFSET_MICROS = 7_000_000_000;

/** What the defects that need a size have. */
const CUT_KEY_CHARACTERS = 40;
const CONFLICT_AFTER_COMPLETION_MS = 150;
const LIVE_CLAIM_DROPPED_AFTER_MS = 100;
const ABSURD_RETRY_AFTER = "86400";

/** Defects with which a holder finishes whatever became of its claim. */
const UNFENCED: readonly Defect[] = ["check-then-act", "takeover-without-fencing", "cleanup-deletes-live-claim"];

interface Replica {
  readonly store: SimulatedStore;
  readonly resumed: Bell;
  isPaused: boolean;
}

/** A request as the key layer sees it. */
interface Work extends KeyIdentity {
  readonly request: HttpRequest;
  readonly fingerprint: string;
  readonly order: Order | null;
}

type Held = { readonly claim: Claim } | { readonly answer: StoredAnswer };

export interface ServerOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly pace: Pace;
  readonly replicas: number;
  readonly contract: Contract;
  readonly behaviour: Behaviour;
}

export class SimulatedServer {
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #pace: Pace;
  readonly #behaviour: Behaviour;
  readonly #leaseMs: number;
  readonly #retentionMs: number;
  readonly #replicas: readonly Replica[];
  readonly #ledger: Effect[] = [];
  readonly #lockFreed = new Bell();
  #isLockTaken = false;
  #effects = 0;
  #requests = 0;

  constructor({ time, random, pace, replicas, contract, behaviour }: ServerOptions) {
    const { leaseMs, retentionMs } = contract;
    if (leaseMs === "undocumented" || retentionMs === "undocumented") throw new Error("the server has both durations");
    this.#time = time;
    this.#random = random;
    this.#pace = pace;
    this.#behaviour = behaviour;
    this.#leaseMs = leaseMs;
    this.#retentionMs = retentionMs;
    const shared = new SimulatedStore();
    this.#replicas = Array.from({ length: replicas }, () => ({
      store: this.#has("process-local-store") ? new SimulatedStore() : shared,
      resumed: new Bell(),
      isPaused: false,
    }));
    for (const replica of this.#replicas) time.start(this.#clean(replica));
  }

  /** A request that has reached a replica, until its answer leaves. */
  *handle(replica: number, request: HttpRequest): Process<Responded> {
    const at = this.#replica(replica);
    yield* awake(at);
    const arrivedAt = this.#time.now;
    const answer = yield* this.#lifecycle(at, request);
    return this.#responded(answer, arrivedAt);
  }

  pause(replica: number): void {
    this.#replica(replica).isPaused = true;
  }

  resume(replica: number): void {
    const found = this.#replica(replica);
    found.isPaused = false;
    found.resumed.ring();
  }

  /** Read side by side, each at a moment of its own. */
  *readEffects(): Process<readonly Effect[]> {
    yield this.#pace.statement();
    const effects = [...this.#ledger];
    yield this.#pace.statement();
    return effects;
  }

  *readRecords(): Process<readonly KeyRecord[]> {
    yield this.#pace.statement();
    const stores = new Set(this.#replicas.map(({ store }) => store));
    const records = [...stores].flatMap(({ records: all }) => [...all].map(({ key, state }) => ({ key, state })));
    yield this.#pace.statement();
    return records;
  }

  // The lifecycle, in the order of its phases.

  *#lifecycle(at: Replica, request: HttpRequest): Process<StoredAnswer> {
    const sent = request.headers["idempotency-key"]?.replace(/^[ \t]+|[ \t]+$/g, "");
    const order = orderOf(request.body);
    if (sent === undefined && !this.#has("missing-key-executes")) return problem(400, "key-missing");
    const isTrusted = this.#has("marker-trusted") && request.headers[REPLAYED_HEADER] !== undefined;
    if (sent === undefined || isTrusted) return yield* this.#executeWithoutKey(at, request, order);
    if (!isWellFormed(sent) && !this.#has("malformed-key-accepted")) return problem(400, "key-malformed");
    const identity = { key: this.#keptKey(sent), scope: this.#scopeOf(request) };
    const work: Work = { ...identity, request, order, fingerprint: this.#fingerprintOf(request.body, order) };
    if (!this.#has("one-lock-for-all")) return yield* this.#claimAndExecute(at, work);
    yield* this.#takeLock();
    const answer = yield* this.#claimAndExecute(at, work);
    this.#freeLock();
    return answer;
  }

  #keptKey(sent: string): string {
    const kept = this.#has("keys-cut") ? sent.slice(0, CUT_KEY_CHARACTERS) : sent;
    return this.#has("keys-without-case") ? kept.toLowerCase() : kept;
  }

  #scopeOf({ method, path, headers }: HttpRequest): string {
    const [route = "", query = ""] = path.split("?");
    return JSON.stringify([
      this.#has("scope-without-caller") ? "" : headers["authorization"],
      this.#has("scope-without-endpoint") ? "" : `${method} ${route}`,
      this.#has("scope-without-query") ? "" : query,
    ]);
  }

  #fingerprintOf(body: string, order: Order | null): string {
    if (this.#has("no-fingerprint")) return "";
    if (this.#has("fingerprint-of-bytes")) return body;
    if (order === null) return canonicalBody(body);
    const fields = ORDER_FIELDS.filter((field) => !this.#has(`fingerprint-without-${field}`));
    return JSON.stringify(fields.map((field) => order[field]));
  }

  *#claimAndExecute(at: Replica, work: Work): Process<StoredAnswer> {
    const held = yield* this.#claimOrAnswer(at, work);
    return "answer" in held ? held.answer : yield* this.#execute(at, work, held.claim);
  }

  /** The claim, or what is answered without one: a replay, a conflict, a mismatch. */
  *#claimOrAnswer(at: Replica, work: Work): Process<Held> {
    for (;;) {
      const result = yield* this.#claim(at, work);
      if ("claim" in result) return result;
      const { seen, seenAt } = result;
      switch (this.#decide(seen, work, seenAt)) {
        case "mismatch":
          return { answer: yield* this.#refuse(at, work, seen) };
        case "replay":
          return { answer: this.#replay(seen.answer) };
        case "conflict":
          return { answer: this.#inFlight(seen.leaseUntil - seenAt) };
        case "take-over": {
          const claim = yield* this.#takeOver(at, work, seen);
          if (claim !== null) return { claim };
        }
      }
    }
  }

  *#claim(at: Replica, work: Work): Process<{ claim: Claim } | { seen: StoredRecord; seenAt: Micros }> {
    if (this.#has("check-then-act")) {
      const seen = yield* this.#statement(at, () => at.store.find(work));
      if (seen !== null) return { seen, seenAt: this.#time.now };
      return { claim: yield* this.#statement(at, () => at.store.put(this.#claiming(work), 1, this.#time.now)) };
    }
    return yield* this.#statement(at, () => ({
      ...at.store.claim(this.#claiming(work), this.#time.now),
      seenAt: this.#time.now,
    }));
  }

  #claiming({ scope, key, fingerprint, request }: Work): Claiming {
    const { now } = this.#time;
    const retentionMs = this.#has("retention-too-short") ? this.#retentionMs / 4 : this.#retentionMs;
    return {
      scope,
      key,
      fingerprint,
      body: request.body,
      leaseUntil: this.#has("claim-without-lease") ? Infinity : now + this.#leaseMs * 1000,
      expiresAt: this.#has("retention-without-end") ? Infinity : now + retentionMs * 1000,
    };
  }

  #decide(record: StoredRecord, { fingerprint }: Work, now: Micros): "mismatch" | "replay" | "conflict" | "take-over" {
    const isLive = record.state === "in_progress" && record.leaseUntil > now;
    if (record.expiresAt <= now && !isLive) return "take-over";
    if (record.fingerprint !== fingerprint) return "mismatch";
    if (record.state === "completed") return this.#countsAsInFlight(record, now) ? "conflict" : "replay";
    return isLive ? "conflict" : "take-over";
  }

  #countsAsInFlight({ completedAt }: StoredRecord, now: Micros): boolean {
    const until = (completedAt ?? 0) + CONFLICT_AFTER_COMPLETION_MS * 1000;
    return this.#has("conflict-after-completion") && now < until;
  }

  *#takeOver(at: Replica, work: Work, { token }: StoredRecord): Process<Claim | null> {
    return yield* this.#rowStatement(at, work, () => {
      const { now } = this.#time;
      if (this.#has("takeover-unconditional")) return at.store.put(this.#claiming(work), token + 1, now);
      return at.store.takeOver(this.#claiming(work), token, now);
    });
  }

  *#refuse(at: Replica, work: Work, { body }: StoredRecord): Process<StoredAnswer> {
    const answer = problem(422, "key-reused", this.#has("rejection-leaks") ? { first: body } : {});
    const { order } = work;
    if (this.#has("rejection-overwrites-record")) {
      yield* this.#rowStatement(at, work, () => at.store.change(work, { state: "completed", answer }));
    }
    if (this.#has("ghost-effect") && order !== null) {
      yield* this.#statement(at, () => this.#ledger.push(this.#effectOf(order)));
    }
    return answer;
  }

  #replay(answer: StoredAnswer | null): StoredAnswer {
    if (answer === null) throw new Error("a completed record has an answer");
    const { location: _, ...others } = answer.headers;
    const headers = this.#has("original-headers-lost") ? others : answer.headers;
    return { ...answer, headers: this.#has("replay-unmarked") ? headers : { ...headers, [REPLAYED_HEADER]: "true" } };
  }

  /** The wait that is promised is the rest of the lease. */
  #inFlight(leaseLeft: Micros): StoredAnswer {
    if (this.#has("duplicate-gets-server-error")) return problem(500, "internal-error");
    if (this.#has("conflict-undocumented")) return problem(425, "too-early");
    const { headers, ...answer } = problem(409, "request-in-flight");
    if (this.#has("conflict-without-retry-after")) return { headers, ...answer };
    const seconds = Number.isFinite(leaseLeft) ? Math.max(1, Math.ceil(leaseLeft / 1_000_000)) : 1;
    const isAbsurd = this.#has("conflict-with-absurd-retry-after");
    return { ...answer, headers: { ...headers, "retry-after": isAbsurd ? ABSURD_RETRY_AFTER : String(seconds) } };
  }

  *#execute(at: Replica, work: Work, claim: Claim): Process<StoredAnswer> {
    if (work.order === null) return yield* this.#settle(at, work, claim);
    if (failsOnPurpose(work.request)) {
      const answer = problem(503, "unavailable");
      yield* this.#rowStatement(at, claim, () => this.#release(at, claim, answer));
      return answer;
    }
    yield* this.#work(at, work.request);
    return yield* this.#settle(at, work, claim);
  }

  /** A failure before any effect frees the key; only the holder may free it. */
  #release({ store }: Replica, claim: Claim, answer: StoredAnswer): void {
    if (!store.isHeldBy(claim)) return;
    if (this.#has("server-error-stored")) store.change(claim, { state: "completed", answer });
    else store.change(claim, { state: "failed_retryable" });
  }

  *#settle(at: Replica, work: Work, claim: Claim): Process<StoredAnswer> {
    const answer = yield* this.#complete(at, work, claim);
    if (answer !== null) return answer;
    // The new holder has finished, or is about to: this client gets what a retry would get.
    const again = yield* this.#claimOrAnswer(at, work);
    if ("answer" in again) return again.answer;
    yield* this.#rowStatement(at, work, () => this.#release(at, again.claim, problem(503, "unavailable")));
    return this.#inFlight(0);
  }

  /**
   * One transaction: the effect and the answer become durable together, or neither does. Null: the claim went
   * to another attempt while this one worked.
   */
  *#complete(at: Replica, work: Work, claim: Claim): Process<StoredAnswer | null> {
    const { order } = work;
    const effect = yield* this.#statement(at, () => (order === null ? null : this.#effectOf(order)));
    const answer = effect === null ? invalidOrder() : this.#accepted(effect);
    const isHeld = yield* this.#rowStatement(at, claim, () => this.#lockHeld(at, claim));
    if (!isHeld) return null;
    yield* this.#statement(at, () => {
      if (effect !== null && !this.#has("lost-effect")) this.#ledger.push(effect);
      this.#finish(at, work, claim, answer);
      at.store.unlock(claim);
    });
    return answer;
  }

  #lockHeld({ store }: Replica, claim: Claim): boolean {
    const isUnfenced = UNFENCED.some((defect) => this.#has(defect));
    const hasToken = this.#has("takeover-unconditional") && store.find(claim)?.token === claim.token;
    const isHeld = isUnfenced || hasToken || store.isHeldBy(claim);
    if (isHeld) store.lock(claim);
    return isHeld;
  }

  #finish({ store }: Replica, work: Work, claim: Claim, answer: StoredAnswer): void {
    if (this.#has("record-left-in-progress") && work.order !== null) return;
    if (this.#has("validation-error-released") && work.order === null) {
      store.remove(claim);
      return;
    }
    store.change(claim, { state: "completed", answer, completedAt: this.#time.now });
  }

  *#executeWithoutKey(at: Replica, request: HttpRequest, order: Order | null): Process<StoredAnswer> {
    if (order === null) return invalidOrder();
    if (failsOnPurpose(request)) return problem(503, "unavailable");
    yield* this.#work(at, request);
    const effect = this.#effectOf(order);
    yield* this.#statement(at, () => this.#ledger.push(effect));
    return this.#accepted(effect);
  }

  *#work(at: Replica, { headers }: HttpRequest): Process {
    yield this.#pace.work(WORK_MS + Number(headers["lab-work-ms"] ?? 0));
    yield* awake(at);
  }

  #effectOf({ reference, ...columns }: Order): Effect {
    this.#effects += 1;
    return { operation: reference, columns: { id: String(this.#effects), ...columns } };
  }

  /** The receipt makes two executions tell themselves apart even where their rows would not. */
  #accepted({ operation, columns: { id = "", amount = "", ...columns } }: Effect): StoredAnswer {
    const told = this.#has("wrong-amount-answered") ? `${amount}0` : amount;
    const body = { id, amount: told, ...columns, reference: operation, receipt: this.#random.below(2 ** 32) };
    const headers = { "content-type": "application/json; charset=utf-8", location: `/orders/${id}` };
    return { status: 201, headers, body: JSON.stringify(body) };
  }

  #responded({ status, headers, body }: StoredAnswer, arrivedAt: Micros): Responded {
    this.#requests += 1;
    const own = {
      "x-request-id": String(this.#requests),
      "lab-arrived-micros": String(arrivedAt + CLOCK_OFFSET_MICROS),
      "lab-answered-micros": String(this.#time.now + CLOCK_OFFSET_MICROS),
    };
    const bytes = Buffer.byteLength(body);
    return { kind: "responded", status, headers: { ...headers, ...own }, body: { text: body, bytes } };
  }

  /** One atomic step on the store. It is under way once it was sent, whatever becomes of its sender. */
  *#statement<Result>(at: Replica, run: () => Result): Process<Result> {
    yield* awake(at);
    yield this.#pace.statement();
    const result = run();
    yield this.#pace.statement();
    yield* awake(at);
    return result;
  }

  /** The same for a change of one record: it waits for a transaction that has changed the record. */
  *#rowStatement<Result>(at: Replica, identity: KeyIdentity, run: () => Result): Process<Result> {
    yield* awake(at);
    yield this.#pace.statement();
    while (at.store.isLocked(identity)) yield at.store.unlocked;
    const result = run();
    yield this.#pace.statement();
    yield* awake(at);
    return result;
  }

  *#clean(at: Replica): Process {
    for (;;) {
      yield CLEAN_UP_EVERY_MS * 1000;
      yield* this.#statement(at, () => {
        const { now } = this.#time;
        at.store.cleanUp(now);
        if (this.#has("cleanup-deletes-live-claim"))
          at.store.dropClaimsBefore(now - LIVE_CLAIM_DROPPED_AFTER_MS * 1000);
      });
    }
  }

  *#takeLock(): Process {
    while (this.#isLockTaken) yield this.#lockFreed;
    this.#isLockTaken = true;
  }

  #freeLock(): void {
    this.#isLockTaken = false;
    this.#lockFreed.ring();
  }

  #replica(number: number): Replica {
    const found = this.#replicas[number % this.#replicas.length];
    if (found === undefined) throw new Error("the server has no replica");
    return found;
  }

  #has(defect: Defect): boolean {
    return this.#behaviour.has(defect);
  }
}

/** A process that is paused goes on where it was, once it is resumed. */
function* awake(at: Replica): Process {
  while (at.isPaused) yield at.resumed;
}

function isWellFormed(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key) && key.length <= KEY_CHARACTERS_MAX;
}

function failsOnPurpose({ headers }: HttpRequest): boolean {
  return headers["lab-fail"] === "before-effect";
}

function invalidOrder(): StoredAnswer {
  return problem(400, "invalid-order");
}

function problem(status: number, slug: string, more: Readonly<Record<string, string>> = {}): StoredAnswer {
  return {
    status,
    headers: { "content-type": "application/problem+json; charset=utf-8" },
    body: JSON.stringify({ type: `https://example.com/problems/${slug}`, status, ...more }),
  };
}
