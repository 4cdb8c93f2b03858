/** What requests cost a database: every statement that it carried out, and every transaction that wrote. */
import type { EventEmitter } from "node:events";
import type pg from "pg";

export interface Cost {
  /** The first word of each, as the server says it when it is done. */
  readonly statements: readonly string[];
  /** Transactions that wrote, and so had to be made durable. Of the whole database: nothing else may be at work. */
  readonly commits: number;
}

export class StatementCounter {
  readonly #pool: pg.Pool;
  readonly #observer: pg.Pool;
  #statements: string[] = [];

  /** Of a pool that has no connection yet. `observer` is another one to the same database. */
  constructor(pool: pg.Pool, observer: pg.Pool) {
    this.#pool = pool;
    this.#observer = observer;
    this.#pool.on("connect", (client) => {
      // The types leave the connection out.
      const { connection } = client as unknown as { readonly connection: EventEmitter };
      connection.on("commandComplete", ({ text }: { readonly text: string }) => {
        this.#statements.push(text.split(" ")[0] ?? "");
      });
    });
  }

  async costOf(work: () => Promise<unknown>): Promise<Cost> {
    const before = await this.#nextTransaction();
    this.#statements = [];
    await work();
    const commits = (await this.#nextTransaction()) - before;
    return { statements: this.#statements, commits };
  }

  /** A transaction gets a number when it writes. */
  async #nextTransaction(): Promise<number> {
    const { rows } = await this.#observer.query("select pg_snapshot_xmax(pg_current_snapshot())::text as next");
    return Number(rows[0].next);
  }
}
