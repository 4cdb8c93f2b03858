/** A real PostgreSQL for the tests of one file, with the service's migrations applied. */
import pg from "pg";
import { Keeper } from "../../../harness/lab/keeper.ts";
import { startPostgres } from "../../../harness/lab/postgres.ts";
import { MIGRATIONS, migrate } from "../migrate.ts";

export class Database implements AsyncDisposable {
  readonly #keeper: Keeper;
  readonly url: string;
  /** For looking into the books; the services under test have pools of their own. */
  readonly pool: pg.Pool;
  #databases = 0;

  private constructor(keeper: Keeper, url: string) {
    this.#keeper = keeper;
    this.url = url;
    this.pool = new pg.Pool({ connectionString: url, max: 4 });
  }

  static async start(): Promise<Database> {
    const keeper = new Keeper();
    try {
      const logs = await keeper.makeDirectory("reference-test-");
      const database = new Database(keeper, (await startPostgres(keeper, logs)).url);
      await migrate(database.pool, MIGRATIONS);
      return database;
    } catch (error) {
      await keeper[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** URL of another database in the same cluster, without any table. */
  async empty(): Promise<string> {
    this.#databases += 1;
    const name = `empty_${this.#databases}`;
    await this.pool.query(`create database ${name}`);
    const url = new URL(this.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.end();
    await this.#keeper[Symbol.asyncDispose]();
  }
}
