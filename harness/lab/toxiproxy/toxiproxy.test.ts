import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Keeper, ownEnvironment } from "../keeper.ts";
import { accepts, freePort } from "../port.ts";
import { cachedServer } from "./cache.ts";
import type { Toxiproxy } from "./client.ts";
import { RELEASES, type Releases } from "./release.ts";
import { startToxiproxy } from "./toxiproxy.ts";

/** A machine that never had Toxiproxy builds it first. */
const BUILD_MS = 300_000;

let folder = "";
let keeper: Keeper;
/** The real server, wherever this machine has it from. */
let real = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-toxiproxy-"));
  keeper = new Keeper();
  const { origin } = await startToxiproxy(keeper, join(folder, "logs"), { ...OPTIONS, choice: "embedded" });
  const found = await promisify(execFile)("sh", ["-c", "command -v toxiproxy-server || true"]);
  real = origin === "on PATH" ? found.stdout.trim() : cachedServer(ownEnvironment());
}, BUILD_MS);
afterAll(async () => {
  await keeper[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const OPTIONS = { secrets: [], signal: new AbortController().signal, onStep: () => undefined };
const NO_RELEASES: Releases = { ...RELEASES, url: "http://127.0.0.1:1/releases" };

/** A machine with a PATH and a cache of its own, both empty. */
class Machine {
  readonly path: string;
  readonly cached: string;
  readonly logs: string;
  readonly env: Readonly<Record<string, string>>;
  releases = NO_RELEASES;
  readonly steps: string[] = [];

  private constructor(place: string) {
    this.path = join(place, "bin");
    this.logs = join(place, "logs");
    this.env = { PATH: this.path, HOME: place, XDG_CACHE_HOME: join(place, "cache") };
    this.cached = cachedServer(this.env);
  }

  static async create(): Promise<Machine> {
    const machine = new Machine(await mkdtemp(join(folder, "machine-")));
    await mkdir(machine.path);
    await mkdir(dirname(machine.cached), { recursive: true });
    return machine;
  }

  /** Puts a shell script on PATH. */
  async install(name: string, script: string): Promise<void> {
    await writeScript(join(this.path, name), script);
  }

  start(choice?: string, by = keeper, env: Readonly<Record<string, string>> = {}): Promise<Toxiproxy> {
    const options = { ...OPTIONS, choice, onStep: (step: string) => this.steps.push(step) };
    return startToxiproxy(by, this.logs, options, { env: { ...this.env, ...env }, releases: this.releases });
  }

  /** What is in the cache beside a finished server. */
  async unfinished(): Promise<readonly string[]> {
    return (await readdir(dirname(this.cached))).filter((name) => name !== "toxiproxy-server");
  }
}

async function writeScript(place: string, script: string): Promise<void> {
  await writeFile(place, `#!/bin/sh\n${script}\n`);
  await chmod(place, 0o755);
}

/** Stands in for a toolchain: what it "builds" is the real server, without the half minute. */
const GO = (before: string): string => `${before}\n/bin/cp ${real} "$GOBIN/server"`;

test("what is on PATH is taken before what is cached", async () => {
  const machine = await Machine.create();
  await symlink(real, join(machine.path, "toxiproxy-server"));
  await writeScript(machine.cached, "exit 1");
  expect((await machine.start()).origin).toBe("on PATH");
});

test("what is cached is up in well under a second and works", async () => {
  const machine = await Machine.create();
  await symlink(real, machine.cached);
  await machine.install("go", "exit 1");
  const began = performance.now();
  const toxiproxy = await machine.start();
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(toxiproxy.origin).toBe("cached");
  expect(machine.steps).toEqual([]);
  const link = await toxiproxy.openLink({ name: "works", upstream: "127.0.0.1:1" });
  expect(await accepts(link.port)).toBe(true);
});

test("a port that was taken meanwhile is not used: the server does not end by that, it only says so", async () => {
  const machine = await Machine.create();
  const taken = `echo $$ > "$HOME/pid"; echo "bind: address already in use"; exec /bin/sleep 1000`;
  await writeScript(machine.cached, `if [ -e "$HOME/pid" ]; then exec ${real} "$@"; fi; ${taken}`);
  const { origin, url } = await machine.start();
  expect(origin).toBe("cached");
  expect(await accepts(Number(new URL(url).port))).toBe(true);
  const first = await pidIn(join(machine.env["HOME"] ?? "", "pid"));
  await vi.waitUntil(() => !isAlive(first), { timeout: GONE_WITHIN_MS });
});

test("with Go it is built once, and told", async () => {
  const machine = await Machine.create();
  await machine.install("go", GO('echo "$@" > "$HOME/asked"'));
  expect((await machine.start()).origin).toBe("built");
  expect(machine.steps).toEqual(["building Toxiproxy with Go, once"]);
  expect(await readFile(join(machine.env["HOME"] ?? "", "asked"), "utf8")).toBe(
    "install github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0\n",
  );
  expect((await machine.start()).origin).toBe("cached");
  expect(machine.steps).toHaveLength(1);
  expect(await machine.unfinished()).toEqual([]);
});

test("two runs that build at once do not break each other", async () => {
  const machine = await Machine.create();
  await machine.install("go", GO("/bin/sleep 0.3"));
  const both = await Promise.all([machine.start(), machine.start()]);
  expect(both.map(({ origin }) => origin)).toEqual(["built", "built"]);
  expect(new Set(both.map(({ url }) => url)).size).toBe(2);
  expect(await machine.unfinished()).toEqual([]);
});

test.each([
  ["a file that is none", "not a program"],
  ["a program that ends at once", "#!/bin/sh\nexit 3\n"],
])("%s in the cache is replaced", async (_, content) => {
  const machine = await Machine.create();
  await writeFile(machine.cached, content);
  await chmod(machine.cached, 0o755);
  await machine.install("go", GO(""));
  expect((await machine.start()).origin).toBe("built");
  expect((await readFile(machine.cached)).equals(await readFile(real))).toBe(true);
});

test("a build that fails leaves nothing, and its last lines are told", async () => {
  const machine = await Machine.create();
  await machine.install("go", 'echo half > "$GOBIN/server"; echo "no space left" >&2; exit 1');
  await expect(machine.start()).rejects.toThrow(/put go on PATH.*the build failed; its last lines:\n {4}no space left/);
  expect(await readdir(dirname(machine.cached))).toEqual([]);
});

/** Runs in a process of its own, which can be killed. */
const RUN = `
  import { Keeper } from ${JSON.stringify(import.meta.resolve("../keeper.js"))};
  import { RELEASES } from ${JSON.stringify(import.meta.resolve("./release.js"))};
  import { startToxiproxy } from ${JSON.stringify(import.meta.resolve("./toxiproxy.js"))};
  const options = { secrets: [], signal: new AbortController().signal, onStep: () => undefined };
  const [logs, env] = [process.argv[1], JSON.parse(process.argv[2])];
  const { url } = await startToxiproxy(new Keeper(), logs, options, { env, releases: RELEASES });
  console.error(url);
`;

function run(machine: Machine): ChildProcess {
  const args = ["--input-type=module", "--eval", RUN, machine.logs, JSON.stringify(machine.env)];
  return spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
}

/** What the keeper takes to end and remove everything. */
const GONE_WITHIN_MS = 5_000;

test("a run that is killed in mid-build leaves nothing of it", async () => {
  const machine = await Machine.create();
  await machine.install("go", 'echo half > "$GOBIN/server"; echo $$ > "$HOME/pid"; exec /bin/sleep 1000');
  const killed = run(machine);
  const pid = await pidIn(join(machine.env["HOME"] ?? "", "pid"));
  killed.kill("SIGKILL");
  const isGone = async (): Promise<boolean> => (await readdir(dirname(machine.cached))).length === 0 && !isAlive(pid);
  await vi.waitUntil(isGone, { timeout: GONE_WITHIN_MS });
});

test("a run that is killed takes its server along", async () => {
  const machine = await Machine.create();
  await symlink(real, machine.cached);
  const killed = run(machine);
  const [url] = await once(killed.stderr ?? killed, "data");
  const port = Number(new URL(String(url).trim()).port);
  expect(await accepts(port)).toBe(true);
  killed.kill("SIGKILL");
  await vi.waitUntil(async () => !(await accepts(port)), { timeout: GONE_WITHIN_MS });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function pidIn(place: string): Promise<number> {
  for (let tries = 0; tries < 500; tries += 1) {
    const pid = Number(await readFile(place, "utf8").catch(() => ""));
    if (pid > 0) return pid;
    await sleep(10);
  }
  throw new Error(`nothing was written to ${place}`);
}

/** An archive as the releases have it. */
async function archiveOf(file: string): Promise<Buffer> {
  const place = await mkdtemp(join(folder, "release-"));
  await copyFile(file, join(place, "toxiproxy-server"));
  await promisify(execFile)("tar", ["-czf", "archive.tar.gz", "toxiproxy-server"], { cwd: place });
  return readFile(join(place, "archive.tar.gz"));
}

class ReleaseServer implements AsyncDisposable {
  readonly #server: Server;

  private constructor(archive: Buffer) {
    this.#server = createServer((incoming, answer) => {
      const isAsked = /^\/releases\/toxiproxy_2\.12\.0_[a-z]+_(amd|arm)64\.tar\.gz$/.test(incoming.url ?? "");
      answer.writeHead(isAsked ? 200 : 404).end(isAsked ? archive : "");
    });
  }

  static async start(archive: Buffer): Promise<ReleaseServer> {
    const started = new ReleaseServer(archive);
    await new Promise<void>((resolve) => started.#server.listen(0, "127.0.0.1", resolve));
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/releases`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Where the system's tar and what it needs are. */
const SYSTEM = "/usr/bin:/bin";

test("a release of the pinned bytes is downloaded once", async () => {
  const machine = await Machine.create();
  const archive = await archiveOf(real);
  await using server = await ReleaseServer.start(archive);
  const sha256 = createHash("sha256").update(archive).digest("hex");
  machine.releases = { url: server.url, sha256: { [`${process.platform}-${process.arch}`]: sha256 } };
  await machine.install("tar", `PATH=${SYSTEM} exec tar "$@"`);
  expect((await machine.start()).origin).toBe("downloaded");
  expect(machine.steps).toEqual(["downloading Toxiproxy 2.12.0, once"]);
  expect((await machine.start()).origin).toBe("cached");
  expect(await machine.unfinished()).toEqual([]);
});

test("a release of other bytes is refused, and nothing of it is kept", async () => {
  const machine = await Machine.create();
  await using server = await ReleaseServer.start(Buffer.from("other bytes"));
  machine.releases = { ...RELEASES, url: server.url };
  await machine.install("tar", `PATH=${SYSTEM} exec tar "$@"`);
  const pinned = RELEASES.sha256[`${process.platform}-${process.arch}`] ?? "";
  await expect(machine.start()).rejects.toThrow(
    new RegExp(`\\.tar\\.gz is not the pinned one: SHA-256 [0-9a-f]{64}, expected ${pinned}\\)`),
  );
  expect(await readdir(dirname(machine.cached))).toEqual([]);
});

test("a machine that has nothing is told every way, and why each failed", async () => {
  const machine = await Machine.create();
  const name = `toxiproxy_2.12.0_${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}.tar.gz`;
  await expect(machine.start()).rejects.toMatchObject({
    code: "unavailable",
    message: `network faults need Toxiproxy and there is none; each of these helps:
  - give the URL of a running one in --toxiproxy or IDEMPROOF_TOXIPROXY_URL (none is given)
  - put toxiproxy-server on PATH (there is none)
  - put toxiproxy-server 2.12.0 at ${machine.cached} (there is none)
  - put go on PATH, to build it once (there is none)
  - let this machine reach its release, to download it once (${NO_RELEASES.url}/${name} cannot be downloaded: bad port)
  - start a Docker engine that has ghcr.io/shopify/toxiproxy:2.12.0 or can pull it (there is none)`,
  });
});

test("a Docker engine that does not run is told with its own words", async () => {
  const machine = await Machine.create();
  await machine.install("docker", 'echo "Cannot connect to the Docker daemon" >&2; exit 1');
  await expect(machine.start()).rejects.toThrow("or can pull it (Cannot connect to the Docker daemon)");
});

test("an image that is there is run in the host's network; one that is not is pulled first", async () => {
  const machine = await Machine.create();
  const run = `while [ "$1" != "-host" ]; do shift; done; exec ${real} "$@"`;
  await machine.install("docker", `echo "$@" >> "$HOME/asked"; case $1 in image) exit 1;; run) ${run};; esac`);
  expect((await machine.start()).origin).toBe("in Docker");
  expect(machine.steps.at(-1)).toBe("pulling ghcr.io/shopify/toxiproxy:2.12.0, once");
  expect(await readFile(join(machine.env["HOME"] ?? "", "asked"), "utf8")).toMatch(
    /^version\nimage inspect (\S+)\npull --quiet \1\nrun --rm --network host --env LOG_LEVEL \1 -host 127\.0\.0\.1 -port \d+\n$/,
  );
});

test("a URL is taken before all else, from the option or the environment, and is not started or ended", async () => {
  const machine = await Machine.create();
  await symlink(real, machine.cached);
  const own = new Keeper();
  const running = await machine.start("embedded", own);
  const [option, variable] = [
    await machine.start(`${running.url}/`),
    await machine.start(undefined, keeper, { IDEMPROOF_TOXIPROXY_URL: running.url }),
  ];
  for (const { url, openLink } of [option, variable]) {
    expect(url).toBe(running.url);
    expect(await accepts((await openLink({ name: "given", upstream: "127.0.0.1:1" })).port)).toBe(true);
  }
  const embedded = await machine.start("embedded", keeper, { IDEMPROOF_TOXIPROXY_URL: running.url });
  expect(embedded.url).not.toBe(running.url);
  await own[Symbol.asyncDispose]();
  expect(await accepts(Number(new URL(running.url).port))).toBe(false);
});

test("a URL where nothing is, and one that is none, are told and nothing else is tried", async () => {
  const machine = await Machine.create();
  await symlink(real, machine.cached);
  const url = `http://127.0.0.1:${await freePort()}`;
  await expect(machine.start(undefined, keeper, { IDEMPROOF_TOXIPROXY_URL: url })).rejects.toMatchObject({
    code: "not-ready",
    message: expect.stringMatching(/^IDEMPROOF_TOXIPROXY_URL: Toxiproxy at 127\.0\.0\.1:\d+ does not answer GET/),
  });
  for (const choice of ["nowhere", "http://a:b@127.0.0.1:8474", ""]) {
    await expect(machine.start(choice)).rejects.toMatchObject({
      code: "usage",
      message: "--toxiproxy: expected embedded, container or a URL such as http://127.0.0.1:8474, without a password",
    });
  }
});

test("a run that is to stop does not wait for the build", async () => {
  const machine = await Machine.create();
  await machine.install("go", "exec /bin/sleep 1000");
  const stop = new AbortController();
  const options = { ...OPTIONS, signal: stop.signal, onStep: () => setTimeout(() => stop.abort(), 200) };
  const starting = startToxiproxy(keeper, machine.logs, options, { env: machine.env, releases: NO_RELEASES });
  await expect(starting).rejects.toThrow("abort");
  expect(await readdir(dirname(machine.cached))).toEqual([]);
});

test("a server logs no connections, and is gone when its keeper ends", async () => {
  const machine = await Machine.create();
  await symlink(real, machine.cached);
  const own = new Keeper();
  const { url, openLink } = await machine.start(undefined, own);
  const link = await openLink({ name: "quiet", upstream: new URL(url).host });
  for (let count = 0; count < 20; count += 1) await accepts(link.port);
  await own[Symbol.asyncDispose]();
  expect(await accepts(link.port)).toBe(false);
  expect(await accepts(Number(new URL(url).port))).toBe(false);
  // A connection that its end has cut may be an error to it.
  expect(await readFile(join(machine.logs, "toxiproxy-cached.log"), "utf8")).not.toMatch(/Accepted|Starting|Started/);
});
