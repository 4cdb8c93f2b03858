/** The service's settings, from the environment. Every one has a value that suits production, or is required. */

const KEY_STORES = ["table", "partitioned"] as const;
type KeyStore = (typeof KEY_STORES)[number];

export interface Settings {
  readonly port: number;
  readonly http2Port: number | null;
  readonly databaseUrl: string;
  readonly callers: Readonly<Record<string, string>>;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly cleanUpEveryMs: number;
  readonly workMs: number;
  readonly poolSize: number;
  /** Where the key records are: in one table, or in partitions by time. */
  readonly keyStore: KeyStore;
  readonly lab: boolean;
}

export function settingsOf(env: Readonly<Record<string, string | undefined>>): Settings {
  return {
    port: number(env, "PORT"),
    http2Port: env["HTTP2_PORT"] ? number(env, "HTTP2_PORT") : null,
    databaseUrl: required(env, "DATABASE_URL"),
    callers: callersOf(required(env, "CALLERS")),
    leaseMs: number(env, "LEASE_MS", 60_000),
    retentionMs: number(env, "RETENTION_MS", 86_400_000),
    cleanUpEveryMs: number(env, "CLEAN_UP_EVERY_MS", 60_000),
    workMs: number(env, "WORK_MS", 0),
    poolSize: number(env, "POOL_SIZE", 10),
    keyStore: keyStoreOf(env["KEY_STORE"] ?? "table"),
    lab: env["LAB"] === "on",
  };
}

/** `token=name,token=name` */
function callersOf(text: string): Record<string, string> {
  return Object.fromEntries(text.split(",").map((pair) => pair.split("=") as [string, string]));
}

function keyStoreOf(text: string): KeyStore {
  const found = KEY_STORES.find((store) => store === text);
  if (found === undefined) throw new Error(`KEY_STORE: found ${text}, expected ${KEY_STORES.join(" or ")}`);
  return found;
}

function required(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

function number(env: Readonly<Record<string, string | undefined>>, name: string, fallback?: number): number {
  const text = env[name] ?? fallback?.toString();
  const value = Number(text);
  if (text === undefined || !Number.isFinite(value))
    throw new Error(`${name}: found ${text ?? "nothing"}, expected a number`);
  return value;
}
