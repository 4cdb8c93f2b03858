/**
 * A transaction on a connection of its own, from when it begins until it is ended, once, and its connection is
 * given back.
 */
import type { PoolClient } from "pg";

/**
 * The database ended a transaction that stood still, or went on, for as long as a lease: idle in transaction,
 * see pool.ts; transaction timeout, see one-transaction/look.ts.
 */
const TOO_SLOW: readonly unknown[] = ["25P03", "25P04"];

export class OpenTransaction {
  readonly client: PoolClient;
  #lost: Error | undefined;
  #isGivenBack = false;
  readonly #onError = (error: Error): void => {
    this.#lost ??= error;
    // Also where nobody goes on with it: who hangs shall not keep a place in the pool.
    this.giveBack();
  };

  constructor(client: PoolClient) {
    this.client = client;
    // A connection can be lost between two statements; without a listener that would end the process.
    client.on("error", this.#onError);
  }

  async commit(): Promise<void> {
    await this.client.query("commit");
    this.giveBack();
  }

  /** Nothing that was done remains. Once it is over there is nothing to roll back. */
  async rollBack(): Promise<void> {
    // A connection on which even the rollback fails is not given back to the pool.
    if (!this.#isGivenBack) await this.client.query("rollback").catch(this.#onError);
    this.giveBack();
  }

  /** Did it fail with this error because the database ended it? */
  wasTooSlow(error: unknown): boolean {
    return [error, this.#lost].some((one) => TOO_SLOW.includes(codeOf(one)));
  }

  /** The transaction is over, or never began. */
  giveBack(): void {
    if (this.#isGivenBack) return;
    this.#isGivenBack = true;
    // A lost connection may report more than one error.
    if (this.#lost === undefined) this.client.off("error", this.#onError);
    this.client.release(this.#lost);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
