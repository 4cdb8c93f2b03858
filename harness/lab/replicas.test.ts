import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { secretsOf } from "../secrets.ts";
import { readTarget } from "../target-file/target-file.ts";
import { misbehaving, writeTargetFolder } from "../testing/target-folder.ts";
import { Lab } from "./lab.ts";

let folder = "";
let runs = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-replicas-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Opened {
  readonly lab: Lab;
  readonly logs: string;
}

async function open(
  parts: Parameters<typeof writeTargetFolder>[1],
  signal = new AbortController().signal,
): Promise<Opened> {
  runs += 1;
  const place = join(folder, `run-${runs}`);
  const target = await readTarget(await writeTargetFolder(place, parts));
  const logs = join(place, "logs");
  const lab = await Lab.open(target, {
    stage: "calm",
    usesLinks: false,
    logs,
    secrets: secretsOf(target.file),
    signal,
    onStep: () => undefined,
  });
  return { lab, logs };
}

/** The words of the failure to open a lab; it must be one that its reader can put right. */
async function failureOf(parts: Parameters<typeof writeTargetFolder>[1]): Promise<string> {
  const error: unknown = await open(parts).then(
    async ({ lab }) => {
      await lab[Symbol.asyncDispose]();
      return null;
    },
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "Failure" });
  return (error as Error).message;
}

describe.concurrent("a lab", () => {
  test("starts every replica on a port of its own, with its number, and ends them", async () => {
    const command = `echo "replica \${replica} on \${port}"; ${misbehaving("none")}`;
    const { lab, logs } = await open({ start: { command, replicas: 3 } });
    await using _ = lab;
    expect(lab.target.urls).toHaveLength(3);
    expect(new Set(lab.target.urls.map(({ port }) => port)).size).toBe(3);
    for (const [number, url] of lab.target.urls.entries()) {
      expect((await fetch(new URL("/health", url))).status).toBe(200);
      expect(await readFile(join(logs, `replica-${number}.log`), "utf8")).toContain(`replica ${number} on ${url.port}`);
    }
    expect(lab.target.ended()).toBeNull();
    await lab[Symbol.asyncDispose]();
    for (const url of lab.target.urls) await expect(fetch(url)).rejects.toThrow();
  });

  test("names the replica that has ended, how, and where its output is", async () => {
    const { lab, logs } = await open({ start: { command: misbehaving("exits"), replicas: 2 } });
    await using _ = lab;
    await fetch(new URL("/orders", lab.target.urls[1]), { method: "POST" }).catch(() => undefined);
    for (let tries = 0; lab.target.ended() === null && tries < 100; tries += 1) await sleep(50);
    expect(lab.target.ended()).toBe(`replica 1 ended with exit code 3 (its output is in ${logs}/replica-1.log)`);
  });

  test("tries another port when the first one was taken meanwhile", async () => {
    const command = `if mkdir taken; then echo 'Error: listen EADDRINUSE: address already in use' >&2; exit 1; fi; ${misbehaving("none")}`;
    const { lab } = await open({ start: { command } });
    await using _ = lab;
    expect((await fetch(new URL("/health", lab.target.urls[0]))).status).toBe(200);
  });

  test("gives up when every port is taken, and shows what the target wrote", async () => {
    const words = await failureOf({ start: { command: "echo EADDRINUSE ${port}; exit 1" } });
    expect(words).toMatch(
      /^replica 0 ended with exit code 1 before it was ready; its last lines:\n( {4}EADDRINUSE \d+\n?){3}$/,
    );
  });

  test.each<[string, object, RegExp]>([
    [
      "that exits at once",
      { command: "echo no config >&2; exit 2 # ${port}" },
      /^replica 0 ended with exit code 2 before it was ready; its last lines:\n {4}no config$/,
    ],
    [
      "that is killed",
      { command: "kill -9 $$ # ${port}" },
      /^replica 0 ended with SIGKILL before it was ready; its last lines:\n {4}\(it wrote nothing\)$/,
    ],
    [
      "that goes to the background",
      { command: `${misbehaving("none").replace("exec ", "")} >/dev/null 2>&1 </dev/null & true` },
      /^replica 0 ended with exit code 0 \(the command must stay in the foreground\)/,
    ],
    [
      "that is no command",
      { command: "no-such-command ${port}" },
      /^replica 0 ended with exit code 127 before it was ready; its last lines:\n.*not found/,
    ],
    [
      "that never listens",
      { command: "echo waiting; sleep 1000 # ${port}", readyMs: 500 },
      /^replica 0 was not ready within 500 ms: GET \/health got no connection \(ECONNREFUSED\), expected a 2xx; its last lines:\n {4}waiting$/,
    ],
    [
      "that is not ready",
      { command: misbehaving("fails", "start"), readyMs: 4_000 },
      /^replica 0 was not ready within 4000 ms: GET \/health got 500, expected a 2xx/,
    ],
    [
      "that never answers",
      { command: misbehaving("silent", "start"), readyMs: 3_000 },
      /got no answer within 2000 ms, expected a 2xx/,
    ],
    [
      "that speaks another language",
      { command: misbehaving("garbage", "start"), readyMs: 4_000 },
      /got something that is no HTTP answer \(Parse Error.*\), expected a 2xx/,
    ],
    [
      "that closes every connection",
      { command: misbehaving("closes", "start"), readyMs: 4_000 },
      /got a connection that was closed before the answer/,
    ],
    [
      "that answers without end",
      { command: misbehaving("huge", "start"), readyMs: 4_000 },
      /got an answer too large to be read to its end/,
    ],
    [
      "that sends headers without end",
      { command: misbehaving("endless-headers", "start"), readyMs: 4_000 },
      /got (something that is no HTTP answer \(Parse Error: Header overflow\)|no answer within 2000 ms)/,
    ],
    ["in a folder that is not there", { directory: "nowhere" }, /^start\.directory: found no folder .*nowhere$/],
    [
      "whose preparation fails",
      { prepare: "echo no registry >&2; exit 1" },
      /^start\.prepare \(echo no registry >&2; exit 1\) ended with exit code 1; its last lines:\n {4}no registry$/,
    ],
    [
      "whose preparation hangs",
      { prepare: "echo half done; sleep 1000", prepareMs: 500 },
      /^start\.prepare \(.*\) was not done within 500 ms; its last lines:\n {4}half done$/,
    ],
    [
      "whose preparation tells a secret",
      { prepare: "echo alice-token; false" },
      /^start\.prepare \(echo \[redacted\]; false\) ended with exit code 1; its last lines:\n {4}\[redacted\]$/,
    ],
  ])("tells of a target %s", async (_, start, words) => {
    expect(await failureOf({ start })).toMatch(words);
  });

  test("tells of a target without its second port", async () => {
    const start = { env: { PORT: "${port}", SECOND: "${http2Port}" }, readyMs: 4_000 };
    const words = await failureOf({ start, http2: "${http2Port}" });
    expect(words).toMatch(/GET \/health is answered, but nothing listens at \$\{http2Port\} \(\d+\)/);
  });

  test("does not wait for the other replicas when one has failed", async () => {
    const command = "if [ ${replica} = 1 ]; then exit 5; fi; sleep 1000 # ${port}";
    const began = performance.now();
    expect(await failureOf({ start: { command, replicas: 3, readyMs: 60_000 } })).toContain(
      "replica 1 ended with exit code 5",
    );
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("starts a replica again with other variables beside its own, on the same port, and later with its own", async () => {
    const command = `echo "[$HELLO $OTHER $PORT]"; ${misbehaving("none")}`;
    const env = { PORT: "${port}", HELLO: "there" };
    const { lab, logs } = await open({ start: { command, env, redeploy: { env: { OTHER: "on ${port}" } } } });
    await using _ = lab;
    const [url] = lab.target.urls;
    const { stop, restart, redeployed } = lab.target.powers;
    await stop?.(0);
    await expect(fetch(new URL("/health", url))).rejects.toThrow();
    // Ended on purpose.
    expect(lab.target.ended()).toBeNull();
    await restart?.(0, redeployed);
    expect((await fetch(new URL("/health", url))).status).toBe(200);
    await stop?.(0);
    await restart?.(0);
    const port = url?.port;
    expect((await readFile(join(logs, "replica-0.log"), "utf8")).match(/\[.*\]/g)).toEqual([
      `[there  ${port}]`,
      `[there on ${port} ${port}]`,
      `[there  ${port}]`,
    ]);
  });

  test("kills a replica that does not end when it is asked to", async () => {
    const { lab } = await open({ start: { command: misbehaving("ignores-sigterm") } });
    await using _ = lab;
    await lab.target.powers.stop?.(0);
    await expect(fetch(new URL("/health", lab.target.urls[0]))).rejects.toThrow();
  });

  test("prepares once, in the target's folder, with all that is not a replica's own", async () => {
    const prepare = 'echo "$HELLO|$(printenv PORT || echo none)|$(basename "$PWD")" > prepared; echo prepared';
    const { lab, logs } = await open({ start: { prepare, replicas: 2, env: { PORT: "${port}", HELLO: "there" } } });
    await lab[Symbol.asyncDispose]();
    expect(await readFile(join(logs, "prepare.log"), "utf8")).toBe("prepared\n");
    const place = join(logs, "..");
    expect(await readFile(join(place, "prepared"), "utf8")).toMatch(/^there\|none\|run-\d+\n$/);
    expect((await readdir(logs)).sort()).toEqual(["prepare.log", "replica-0.log", "replica-1.log"]);
  });
});
