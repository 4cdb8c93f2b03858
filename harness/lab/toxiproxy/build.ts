/** Builds the pinned server with a Go toolchain. It calls its version "git", since a release sets that when linking. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unlessAborted } from "../abort.ts";
import { lastLines } from "../keeper.ts";
import type { Workshop } from "./launch.ts";
import { TOXIPROXY_VERSION } from "./server.ts";

const PACKAGE = `github.com/Shopify/toxiproxy/v2/cmd/server@v${TOXIPROXY_VERSION}`;
/** Half a minute on two cores, and its modules may come over a slow line. */
const BUILD_MS = 300_000;

/** Returns where in the directory the server is. */
export async function build(directory: string, { keeper, logs, env, secrets, signal }: Workshop): Promise<string> {
  // The keeper runs it, so that it does not go on when the run is ended.
  const go = await keeper.start({
    file: "go",
    args: ["install", PACKAGE],
    // As releases are built: no C compiler is needed then.
    env: { ...env, GOBIN: directory, CGO_ENABLED: "0" },
    directory: "/",
    log: join(logs, "toxiproxy-build.log"),
    secrets,
    stopSignal: "SIGTERM",
  });
  const limit = new AbortController();
  try {
    const late = sleep(BUILD_MS, null, { signal: limit.signal });
    const exit = await unlessAborted(signal, Promise.race([go.exited, late]));
    if (exit === null) throw new Error(`the build took longer than ${BUILD_MS / 1_000} s`);
    if (exit.signal !== null) throw new Error(`the build was ended by ${exit.signal}`);
    if (exit.code !== 0) throw new Error(`the build failed; its last lines:\n${await lastLines(go.log)}`);
    return join(directory, "server");
  } finally {
    limit.abort();
    await go.signal("SIGKILL");
  }
}
