/** The service's database connections. */
import pg from "pg";

export interface PoolOptions {
  readonly databaseUrl: string;
  readonly poolSize: number;
  readonly leaseMs: number;
}

export function openPool({ databaseUrl, poolSize }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize });
  pool.on("error", (error) => console.error("an idle database connection failed:", error.message));
  return pool;
}
