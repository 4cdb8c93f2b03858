/**
 * PostgreSQL in a container of the run's own. Its port may be open to more than this machine, as the engine decides,
 * so there is a password, new for each run.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { startContainer } from "./container.ts";
import type { Keeper } from "./keeper.ts";
import type { Postgres, ServiceOptions } from "./postgres.ts";

const IMAGE = "postgres:18-alpine";
const VARIABLE = "IDEMPROOF_POSTGRES_IMAGE";

export async function postgresInContainer(
  settings: readonly string[],
  keeper: Keeper,
  logs: string,
  options: ServiceOptions,
): Promise<Postgres> {
  const password = randomBytes(16).toString("hex");
  const request = {
    run: { kind: "postgres", password, settings } as const,
    image: process.env[VARIABLE] || IMAGE,
    variable: VARIABLE,
    option: "--database",
    log: join(logs, "postgres.log"),
    secrets: [...options.secrets, password],
  };
  const { host, port } = await startContainer(keeper, logs, request, options);
  return { url: `postgres://postgres:${password}@${host}:${port}/idemproof`, mayBeKilled: false };
}
