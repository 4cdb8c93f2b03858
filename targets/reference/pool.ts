/** The service's database connections. */
import pg from "pg";

export interface PoolOptions {
  readonly databaseUrl: string;
  readonly poolSize: number;
  readonly leaseMs: number;
}

/**
 * A session that is idle inside of a transaction for as long as a lease belongs to a process that has stopped.
 * PostgreSQL ends it: otherwise it would keep its locks on a key record, and every takeover would wait for it.
 */
export function openPool({ databaseUrl, poolSize, leaseMs }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: poolSize,
    idle_in_transaction_session_timeout: leaseMs,
  });
  pool.on("error", (error) => console.error("an idle database connection failed:", error.message));
  return pool;
}
