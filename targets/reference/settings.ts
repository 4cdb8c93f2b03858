/** The service's settings, from the environment. Every one has a value that suits production, or is required. */

import { BATCH_ROWS } from "./idempotency/clean-up.ts";
import { FINGERPRINT_VERSIONS, type FingerprintVersion } from "./idempotency/fingerprint.ts";
import type { Way } from "./idempotency/plugin.ts";

const KEY_STORES = ["table", "partitioned"] as const;
export type KeyStore = (typeof KEY_STORES)[number];

const WAYS: readonly Way[] = ["two-transactions", "one-transaction"];

type Environment = Readonly<Record<string, string | undefined>>;

/** What the service and its reconciler both need, and have to agree upon. */
interface SharedSettings {
  readonly databaseUrl: string;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly poolSize: number;
  /** Shorter than the lease, so that a call ends while its key is held. */
  readonly processorTimeoutMs: number;
  /** First wait between two looks of the reconciler at one key; each further one is twice as long. */
  readonly reconcileEveryMs: number;
  /** After so many looks a key is listed for review. */
  readonly reconcileTries: number;
  /** What the process calls itself at a failpoint. */
  readonly replica: string;
  /** Null unless the lab is on: production opens no such channel. */
  readonly failpointsUrl: string | null;
}

export interface Settings extends SharedSettings {
  /** By which algorithm the fingerprint of a new key is made; the others are still understood. */
  readonly fingerprintVersion: FingerprintVersion;
  readonly port: number;
  readonly http2Port: number | null;
  readonly callers: Readonly<Record<string, string>>;
  readonly cleanUpEveryMs: number;
  /** How many records the cleanup removes in one statement; infinity: all. */
  readonly cleanUpBatchRows: number;
  readonly workMs: number;
  /** Where the key records are: in one table, or in partitions by time. */
  readonly keyStore: KeyStore;
  /** How orders and refunds claim their keys. */
  readonly way: Way;
  /** Null: there is nobody to charge with, and no `POST /charges`. */
  readonly processorUrl: string | null;
  readonly lab: boolean;
}

interface ReconcilerSettings extends SharedSettings {
  readonly processorUrl: string;
}

export function settingsOf(env: Environment): Settings {
  return {
    ...sharedSettingsOf(env),
    port: number(env, "PORT"),
    http2Port: env["HTTP2_PORT"] ? number(env, "HTTP2_PORT") : null,
    callers: callersOf(required(env, "CALLERS")),
    cleanUpEveryMs: number(env, "CLEAN_UP_EVERY_MS", 60_000),
    cleanUpBatchRows: number(env, "CLEAN_UP_BATCH_ROWS", BATCH_ROWS) || Infinity,
    workMs: number(env, "WORK_MS", 0),
    keyStore: oneOf(env, "KEY_STORE", KEY_STORES, "table"),
    way: wayOf(env),
    fingerprintVersion: fingerprintVersionOf(env["FINGERPRINT_VERSION"] ?? "1"),
    processorUrl: env["PROCESSOR_URL"] || null,
    lab: isLab(env),
  };
}

export function reconcilerSettingsOf(env: Environment): ReconcilerSettings {
  return { ...sharedSettingsOf(env), processorUrl: required(env, "PROCESSOR_URL") };
}

function sharedSettingsOf(env: Environment): SharedSettings {
  const leaseMs = number(env, "LEASE_MS", 60_000);
  return {
    databaseUrl: required(env, "DATABASE_URL"),
    leaseMs,
    retentionMs: number(env, "RETENTION_MS", 86_400_000),
    poolSize: number(env, "POOL_SIZE", 10),
    processorTimeoutMs: processorTimeoutMsOf(env, leaseMs),
    reconcileEveryMs: number(env, "RECONCILE_EVERY_MS", 10_000),
    reconcileTries: number(env, "RECONCILE_TRIES", 10),
    replica: env["REPLICA"] ?? "",
    failpointsUrl: isLab(env) ? env["FAILPOINTS_URL"] || null : null,
  };
}

/** No client waits longer than this for somebody else's service. */
const PROCESSOR_TIMEOUT_MS = 10_000;

function processorTimeoutMsOf(env: Environment, leaseMs: number): number {
  const timeoutMs = number(env, "PROCESSOR_TIMEOUT_MS", Math.min(PROCESSOR_TIMEOUT_MS, leaseMs / 2));
  if (timeoutMs >= leaseMs) {
    throw new Error(`PROCESSOR_TIMEOUT_MS: found ${timeoutMs}, expected less than LEASE_MS, which is ${leaseMs}`);
  }
  return timeoutMs;
}

function isLab(env: Environment): boolean {
  return env["LAB"] === "on";
}

/** `token=name,token=name` */
function callersOf(text: string): Record<string, string> {
  return Object.fromEntries(text.split(",").map((pair) => pair.split("=") as [string, string]));
}

/** A key in a partition is unique by a lock of its own, which is held by the statement that claims it. */
function wayOf(env: Environment): Way {
  const way = oneOf(env, "WAY", WAYS, "two-transactions");
  if (way === "one-transaction" && env["KEY_STORE"] === "partitioned") {
    throw new Error("WAY: one-transaction is there for KEY_STORE=table only");
  }
  return way;
}

function oneOf<Value extends string>(
  env: Environment,
  name: string,
  values: readonly Value[],
  fallback: NoInfer<Value>,
): Value {
  const text = env[name] ?? fallback;
  const found = values.find((value) => value === text);
  if (found === undefined) throw new Error(`${name}: found ${text}, expected ${values.join(" or ")}`);
  return found;
}

function fingerprintVersionOf(text: string): FingerprintVersion {
  const found = FINGERPRINT_VERSIONS.find((version) => String(version) === text);
  if (found !== undefined) return found;
  throw new Error(`FINGERPRINT_VERSION: found ${text}, expected ${FINGERPRINT_VERSIONS.join(" or ")}`);
}

function required(env: Environment, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

function number(env: Environment, name: string, fallback?: number): number {
  const text = env[name] ?? fallback?.toString();
  const value = Number(text);
  if (text === undefined || !Number.isFinite(value))
    throw new Error(`${name}: found ${text ?? "nothing"}, expected a number`);
  return value;
}
