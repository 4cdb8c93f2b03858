/**
 * A container for one run. A process of the keeper's starts it and passes its log on, so that an interrupted run
 * waits for no download; when the run is over, the keeper removes everything that bears the run's label, however
 * the harness ended. This is what testcontainers' Ryuk would do, without an image of its own and without the
 * ten seconds that Ryuk waits; `TESTCONTAINERS_RYUK_DISABLED=false` has both.
 */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Failure } from "../fail.ts";
import { type Keeper, type KeptProcess, lastLines, ownEnvironment } from "./keeper.ts";
import type { ServiceOptions } from "./postgres.ts";

/** The first time, an image of some hundred megabytes may have to be downloaded. */
const START_MS = 300_000;
const BETWEEN_LOOKS_MS = 25;

export const LABEL = "idemproof.run";
/** What the container's process reads its order from: an argument would show the password to everybody. */
export const ORDER_VARIABLE = "IDEMPROOF_CONTAINER";

export type ContainerKind =
  | { readonly kind: "postgres"; readonly password: string; readonly settings: readonly string[] }
  | { readonly kind: "toxiproxy"; readonly port: number };

export interface ContainerRequest {
  readonly run: ContainerKind;
  readonly image: string;
  /** The variable that names another image. */
  readonly variable: string;
  /** The option that asked for a container, for messages. */
  readonly option: string;
  readonly log: string;
  readonly secrets: readonly string[];
}

export interface ContainerOrder {
  readonly run: ContainerKind;
  readonly image: string;
  readonly variable: string;
  readonly label: string;
  /** The folder of `answer.json` and `engine-found`. */
  readonly directory: string;
}

export type ContainerAnswer = { readonly host: string; readonly port: number } | { readonly failure: string };

export interface StartedPlace {
  readonly host: string;
  readonly port: number;
  readonly process: KeptProcess;
}

export async function startContainer(
  keeper: Keeper,
  logs: string,
  { option, log, secrets, ...request }: ContainerRequest,
  { signal }: Pick<ServiceOptions, "signal">,
): Promise<StartedPlace> {
  const directory = await keeper.makeDirectory("idemproof-container-");
  const label = randomUUID();
  const order: ContainerOrder = { ...request, label, directory };
  // Ahead of the container: a harness that is killed cannot come between.
  await keeper.runAtEnd({
    file: process.execPath,
    args: [fileURLToPath(new URL("./remove-containers-process.js", import.meta.url)), label, directory],
    env: environment(directory),
    log: join(logs, "left-behind.log"),
    otherwise: `a container; run: docker rm -f -v $(docker ps -aq --filter label=${LABEL}=${label})`,
  });
  const started = await keeper.start({
    file: process.execPath,
    args: [fileURLToPath(new URL("./container-process.js", import.meta.url))],
    env: { ...environment(directory), [ORDER_VARIABLE]: JSON.stringify(order) },
    directory: process.cwd(),
    log,
    secrets,
    stopSignal: "SIGTERM",
  });
  const answer = await answerOf(started, directory, signal);
  if ("host" in answer) return { ...answer, process: started };
  throw new Failure("not-ready", `${option} container: ${answer.failure}, or leave ${option} out`);
}

function environment(directory: string): Record<string, string> {
  const name = "TESTCONTAINERS_RYUK_DISABLED";
  // testcontainers leaves a lock file in the temporary directory.
  return { ...ownEnvironment(), [name]: process.env[name] ?? "true", TMPDIR: directory };
}

async function answerOf(started: KeptProcess, directory: string, signal: AbortSignal): Promise<ContainerAnswer> {
  const end = performance.now() + START_MS;
  for (;;) {
    const hasEnded = started.exit !== null;
    const text = await readFile(join(directory, "answer.json"), "utf8").catch(() => "");
    if (text !== "") return JSON.parse(text) as ContainerAnswer;
    if (hasEnded)
      return { failure: `it does not come up; its last lines:\n${await lastLines(started.log)}\ncheck the image` };
    if (performance.now() > end) return { failure: `it was not up within ${START_MS} ms: pull its image beforehand` };
    await sleep(BETWEEN_LOOKS_MS, undefined, { signal });
  }
}
