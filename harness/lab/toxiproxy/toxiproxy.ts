/** Toxiproxy for network faults: found, built or fetched, and started; else unavailable, with every way to get it. */
import { mkdir } from "node:fs/promises";
import { Failure, messageOf } from "../../fail.ts";
import { type Keeper, ownEnvironment } from "../keeper.ts";
import type { ServiceOptions } from "../postgres.ts";
import { build } from "./build.ts";
import { cache, cachedServer } from "./cache.ts";
import { linksOf, type Toxiproxy, versionAt } from "./client.ts";
import { startInContainer } from "./container.ts";
import { startInDocker, TOXIPROXY_IMAGE } from "./docker.ts";
import { mustBeFound } from "./found.ts";
import { type Launch, launch, type Workshop } from "./launch.ts";
import { download, RELEASES, type Releases } from "./release.ts";
import { TOXIPROXY_VERSION, type ToxiproxyServer } from "./server.ts";

const VARIABLE = "IDEMPROOF_TOXIPROXY_URL";

export interface ToxiproxyOptions extends ServiceOptions {
  /** `embedded`, `container` or the URL of a running server; without it the environment's URL, else `embedded`. */
  readonly choice?: string | undefined;
  /** What is being waited for, for the progress line. */
  readonly onStep: (step: string) => void;
}

/** Where a server is looked for. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly releases: Releases;
}

/** `logs` is the folder for its logs. */
export async function startToxiproxy(
  keeper: Keeper,
  logs: string,
  options: ToxiproxyOptions,
  surroundings: Surroundings = { env: ownEnvironment(), releases: RELEASES },
): Promise<Toxiproxy> {
  const { secrets, signal, onStep } = options;
  const { env, releases } = surroundings;
  await mkdir(logs, { recursive: true });
  const workshop: Workshop = { keeper, logs, env, secrets, signal, onStep };
  return linksOf(await serverFor(options.choice, workshop, releases));
}

function serverFor(choice: string | undefined, workshop: Workshop, releases: Releases): Promise<ToxiproxyServer> {
  const given = workshop.env[VARIABLE];
  if (choice === undefined && given) return givenServer(given, VARIABLE);
  switch (choice ?? "embedded") {
    case "embedded":
      return firstOf(waysTo(workshop, releases), workshop.signal);
    case "container":
      return startInContainer(workshop);
    default:
      return givenServer(choice ?? "", "--toxiproxy");
  }
}

/** `source` is where the URL was given. */
async function givenServer(text: string, source: string): Promise<ToxiproxyServer> {
  const url = /^https?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.username !== "" || url.password !== "") {
    const also = source === VARIABLE ? "" : "embedded, container or ";
    throw new Failure("usage", `${source}: expected ${also}a URL such as http://127.0.0.1:8474, without a password`);
  }
  const base = url.origin + url.pathname.replace(/\/+$/, "");
  try {
    await versionAt(base);
  } catch (error) {
    throw new Failure("not-ready", `${source}: ${messageOf(error)}`, { cause: error });
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isHere = host === "localhost" || host === "::1" || host.startsWith("127.");
  // Elsewhere, its links must be reached over the network.
  return { url: base, listenHost: isHere ? "127.0.0.1" : "0.0.0.0", host, origin: url.host, ended: () => null };
}

interface Way {
  /** What to do to make it work, as half a sentence. */
  readonly advice: string;
  start(): Promise<ToxiproxyServer>;
}

async function firstOf(ways: readonly Way[], signal: AbortSignal): Promise<ToxiproxyServer> {
  const tried = [`give the URL of a running one in --toxiproxy or ${VARIABLE} (none is given)`];
  for (const { advice, start } of ways) {
    try {
      return await start();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Failure && error.code === "target-lost") throw error;
      tried.push(`${advice} (${messageOf(error)})`);
    }
  }
  const list = tried.map((way) => `\n  - ${way}`).join("");
  throw new Failure("unavailable", `network faults need Toxiproxy and there is none; each of these helps:${list}`);
}

function waysTo(workshop: Workshop, releases: Releases): readonly Way[] {
  const { env, onStep } = workshop;
  const cached = cachedServer(env);
  return [
    {
      advice: "put toxiproxy-server on PATH",
      start: () => startFile("toxiproxy-server", "on PATH", workshop),
    },
    {
      advice: `put toxiproxy-server ${TOXIPROXY_VERSION} at ${cached}`,
      start: () => startFile(cached, "cached", workshop),
    },
    {
      advice: "put go on PATH, to build it once",
      start: async () => {
        await mustBeFound("go", env);
        onStep("building Toxiproxy with Go, once");
        const built = await cache(workshop, (directory) => build(directory, workshop));
        return startFile(built, "built", workshop);
      },
    },
    {
      advice: "let this machine reach its release, to download it once",
      start: async () => {
        onStep(`downloading Toxiproxy ${TOXIPROXY_VERSION}, once`);
        const downloaded = await cache(workshop, (directory) => download(directory, releases, workshop));
        return startFile(downloaded, "downloaded", workshop);
      },
    },
    {
      advice: `start a Docker engine that has ${TOXIPROXY_IMAGE} or can pull it`,
      start: () => startInDocker(workshop),
    },
  ];
}

async function startFile(file: string, origin: Launch["origin"], workshop: Workshop): Promise<ToxiproxyServer> {
  await mustBeFound(file, workshop.env);
  return launch(workshop, { origin, command: (flags) => ({ file, args: flags }) });
}
