/** Everything that a charge needs, for tests: two replicas, a processor, the lab's failpoints, one database. */
import { book } from "../charges/charge.ts";
import { downstreamKeyOf } from "../idempotency/downstream.ts";
import { type ReconcileOptions, reconcile } from "../idempotency/reconcile.ts";
import { Database } from "./database.ts";
import { TestFailpoints } from "./failpoints.ts";
import { Processor } from "./processor.ts";
import { type Answer, orderNamed, type Sent, Service, type ServiceOptions } from "./service.ts";

/** Longer than any answer takes on a machine with other work, shorter than a lease. */
const PROCESSOR_TIMEOUT_MS = 10_000;

export const SCOPE = JSON.stringify(["alice", "POST", "/charges", ""]);

export const downstreamKey = (key: string): string => downstreamKeyOf({ scope: SCOPE, key }, "charge");

/** What the books show of an operation that was done once. */
export const ONCE = { charges: 1, ledger: 1, receipts: 1 };

export function chargeOf(key: string, changes: Partial<Sent> = {}): Sent {
  return { key, body: orderNamed(key), path: "/charges", ...changes };
}

/** The same, asking at every failpoint. */
export function watched(key: string): Sent {
  return chargeOf(key, { headers: { "lab-failpoints": "on" } });
}

interface KeyRow {
  readonly state: string;
  readonly recovery_point: string;
  readonly held_since: Date | null;
  readonly tries: number;
}

export class Charging implements AsyncDisposable {
  readonly database: Database;
  readonly processor: Processor;
  readonly failpoints: TestFailpoints;
  readonly one: Service;
  readonly other: Service;

  private constructor(
    database: Database,
    processor: Processor,
    failpoints: TestFailpoints,
    [one, other]: readonly [Service, Service],
  ) {
    this.database = database;
    this.processor = processor;
    this.failpoints = failpoints;
    this.one = one;
    this.other = other;
  }

  static async start(): Promise<Charging> {
    const [database, processor, failpoints] = [
      await Database.start(),
      await Processor.start(),
      await TestFailpoints.start(),
    ];
    const settings = settingsFor(processor, failpoints);
    const one = await Service.open(database.url, { ...settings, replica: "1" });
    const other = await Service.open(database.url, { ...settings, replica: "2" });
    return new Charging(database, processor, failpoints, [one, other]);
  }

  /** A replica that differs from the two. */
  open(options: ServiceOptions): Promise<Service> {
    return Service.open(this.database.url, { ...settingsFor(this.processor, this.failpoints), ...options });
  }

  async recordOf(key: string): Promise<KeyRow | undefined> {
    const { rows } = await this.database.pool.query<KeyRow>("select * from idempotency_keys where key = $1", [key]);
    return rows[0];
  }

  async expireLease(key: string): Promise<void> {
    const statement = "update idempotency_keys set lease_expires_at = clock_timestamp() where key = $1";
    await this.database.pool.query(statement, [key]);
  }

  async expireRetention(key: string): Promise<void> {
    const statement = "update idempotency_keys set expires_at = clock_timestamp() where key = $1";
    await this.database.pool.query(statement, [key]);
  }

  async booksOf(reference: string): Promise<typeof ONCE> {
    const { rows } = await this.database.pool.query(
      `select count(distinct ledger.id)::int as ledger, count(receipts.id)::int as receipts
       from ledger left join receipts on ledger_id = ledger.id and receipts.charge = ledger.charge
       where reference = $1 and kind = 'charge'`,
      [reference],
    );
    return { charges: this.processor.chargesOf(reference).length, ...rows[0] };
  }

  /** What `GET /reconciliation` shows of a key. */
  async listed(key: string): Promise<object | undefined> {
    const answer = await this.one.app.inject({ method: "GET", url: "/reconciliation" });
    return answer.json<{ keys: { readonly key: string }[] }>().keys.find((held) => held.key === key);
  }

  /** What a client does that was told to come back: it waits for the lease, and asks again. */
  async retried(key: string, service = this.other): Promise<Answer> {
    await this.expireLease(key);
    return service.send(chargeOf(key));
  }

  /** One round of the reconciler. */
  reconcile(options: Partial<ReconcileOptions> = {}): Promise<number> {
    return reconcile({
      pool: this.other.pool,
      processor: { url: this.processor.url, timeoutMs: PROCESSOR_TIMEOUT_MS },
      leaseMs: 60_000,
      retentionMs: 3_600_000,
      everyMs: 60_000,
      triesMax: 3,
      failpoints: null,
      effect: (intent) => (transaction, outcome) => book(transaction, intent, outcome),
      onError: () => undefined,
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { one, other, processor, failpoints, database } = this;
    for (const opened of [one, other, processor, failpoints, database]) await opened[Symbol.asyncDispose]();
  }
}

function settingsFor(processor: Processor, failpoints: TestFailpoints): ServiceOptions {
  return {
    processorUrl: processor.url,
    processorTimeoutMs: PROCESSOR_TIMEOUT_MS,
    failpointsUrl: failpoints.url,
    reconcileTries: 3,
  };
}
