/** The service's settings, from the environment. Every one has a value that suits production, or is required. */

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
    lab: env["LAB"] === "on",
  };
}

/** `token=name,token=name` */
function callersOf(text: string): Record<string, string> {
  return Object.fromEntries(text.split(",").map((pair) => pair.split("=") as [string, string]));
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
