/** What the load benchmark sends to: a server that does next to nothing, and the reference on a real PostgreSQL. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Failure } from "../fail.ts";
import { Keeper } from "../lab/keeper.ts";
import { startPostgres } from "../lab/postgres.ts";
import { startReplicas } from "../lab/replicas.ts";
import type { Target } from "../target.ts";
import { parseTarget, readTarget } from "../target-file/target-file.ts";

export interface LoadTarget extends AsyncDisposable {
  readonly name: string;
  readonly url: URL;
  /** The server's process. */
  readonly pid: number;
  readonly target: Target;
}

export async function startTrivial(): Promise<LoadTarget> {
  const child = fork(fileURLToPath(new URL("./load-target-process.js", import.meta.url)));
  const exited = once(child, "exit");
  const [port] = (await once(child, "message")) as [number];
  const url = new URL(`http://127.0.0.1:${port}`);
  const body = { amount: 1999, currency: "usd", item: "book", reference: "${operation}" };
  const file = {
    name: "trivial",
    urls: [url.href],
    callers: { alice: { headers: { authorization: "Bearer alice-token" } } },
    operations: { "create-order": { request: { method: "POST", path: "/orders", body }, success: [201], outcome: [] } },
  };
  return {
    name: "trivial server",
    url,
    pid: child.pid ?? 0,
    target: parseTarget(file, ".", (complaints) => new Failure("usage", JSON.stringify(complaints))),
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await exited;
    },
  };
}

/** One replica, as in production: without the lab's hooks, and without work that only stretches a race. */
const REFERENCE_ENV = { PORT: "${port}", DATABASE_URL: "${postgres}", CALLERS: "alice-token=alice,bob-token=bob" };

export async function startReference(logs: string): Promise<LoadTarget> {
  const { file, contract, directory } = await readTarget(
    fileURLToPath(new URL("../../../targets/reference", import.meta.url)),
  );
  const { start } = file;
  if (start === undefined) throw new Error("the reference says how it is started");
  const keeper = new Keeper();
  try {
    const shared = { secrets: [], signal: new AbortController().signal };
    const postgres = await startPostgres(keeper, logs, shared);
    const [replica] = await startReplicas(keeper, {
      ...shared,
      start: { ...start, env: REFERENCE_ENV, beside: {}, replicas: 1 },
      directory,
      logs,
      hasHttp2: false,
      names: { postgres: postgres.url },
    });
    if (replica === undefined) throw new Error("one replica was started");
    // It runs: a lane only has to be told where.
    const { start: _, http2: __, effects: ___, records: ____, ...running } = file;
    return {
      name: "reference",
      url: replica.url,
      pid: replica.process.pid,
      target: { file: { ...running, urls: [replica.url.href] }, contract, directory },
      [Symbol.asyncDispose]: () => keeper[Symbol.asyncDispose](),
    };
  } catch (error) {
    await keeper[Symbol.asyncDispose]();
    throw error;
  }
}
