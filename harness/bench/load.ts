/**
 * How much load the harness makes with every attempt recorded, beside wrk, which records nothing: closed loop, round
 * by round in one run, the order turned each time, against a trivial server and against the reference. Then open
 * loop: how late the generator starts what it is to start at a high rate. `npm run bench:load`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Failure } from "../fail.ts";
import { closedLoop } from "./closed-loop.ts";
import { coreSecondsOf, coreSecondsOfEnded } from "./core-use.ts";
import { generate, type Lane } from "./generator.ts";
import { withHolders } from "./holders.ts";
import { LoadLane } from "./load-lane.ts";
import { type LoadTarget, startReference, startTrivial } from "./load-target.ts";
import { scheduleOf } from "./schedule.ts";
import { Sender } from "./sender.ts";
import { median } from "./statistics.ts";
import { checkWrk, type Pattern, wrk } from "./wrk.ts";

const TIMEOUT_MS = 10_000;
/** Compiles clients and target before anything counts: so many attempts, in so many pieces at most. */
const WARM_ATTEMPTS = 20_000;
const WARM_MS = 1_000;
const WARM_PIECES_MAX = 5;
/** One start in a hundred may be later. */
const LATE_MICROS_MAX = 1_000;
/** More in flight than this at a trivial server: it does not keep up. */
const IN_FLIGHT_MAX = 5_000;
const USAGE = 2;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "50" },
    rate: { type: "string", default: "5000" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);
const rate = Number(values.rate);

/** A target, and all that is needed to load it. */
interface Ground {
  readonly target: LoadTarget;
  readonly lane: Lane;
  readonly sender: Sender;
  /** How many attempts the history must hold in the end. */
  attempts: number;
}

/** One way's part of a round; cores are null where the system does not tell. */
interface Part {
  readonly rate: number;
  readonly own: number | null;
  readonly server: number | null;
}

const directory = mkdtempSync(join(tmpdir(), "idemproof-load-"));
try {
  checkWrk();
  print(`${connections} connections, ${rounds} round(s) of ${seconds} s each way; cores: client + server`);
  const atTrivial = await on(startTrivial, async (ground) => {
    const ratio = await closed(ground);
    await open(ground);
    return ratio;
  });
  const atReference = await on(() => startReference(directory), closed);
  print(`ratio at the reference: ${atReference.toFixed(3)}`);
  print(`ratio: ${atTrivial.toFixed(3)}`);
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(error.message);
  process.exitCode = USAGE;
} finally {
  rmSync(directory, { recursive: true });
}

async function on(start: () => Promise<LoadTarget>, use: (ground: Ground) => Promise<number>): Promise<number> {
  await using target = await start();
  const history = await LoadLane.open(target, join(directory, `${target.name}.ndjson`), TIMEOUT_MS);
  const ground = { target, lane: history.lane, sender: new Sender(TIMEOUT_MS), attempts: 0 };
  const ratio = await use(ground);
  await ground.sender[Symbol.asyncDispose]();
  await history[Symbol.asyncDispose]();
  const { invoked, completed } = await history.recorded();
  if (invoked !== ground.attempts || completed !== ground.attempts) {
    throw new Error(`the history holds ${invoked} attempts and ${completed} outcomes, expected ${ground.attempts}`);
  }
  print(`${target.name}: every one of ${completed} attempts is in the history, with its outcome`);
  return ratio;
}

/** The median of the rounds' ratios. */
async function closed(ground: Ground): Promise<number> {
  for (let piece = 0; piece < WARM_PIECES_MAX && ground.attempts < WARM_ATTEMPTS; piece += 1) {
    await ours(ground, WARM_MS);
  }
  await yardstick(ground, 1);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [own, theirs] =
      round % 2 === 0
        ? [await ours(ground, seconds * 1000), await yardstick(ground, seconds)]
        : [await yardstick(ground, seconds), await ours(ground, seconds * 1000)].reverse();
    if (own === undefined || theirs === undefined) throw new Error("a round has two parts");
    const ratio = own.rate / theirs.rate;
    ratios.push(ratio);
    print(
      `${ground.target.name} round ${round + 1}: ours ${inWords(own)}, wrk ${inWords(theirs)}, ${ratio.toFixed(3)}`,
    );
  }
  return median(ratios);
}

async function ours(ground: Ground, forMs: number): Promise<Part> {
  const { lane, sender } = ground;
  return part(
    ground.target,
    () => coreSecondsOf(process.pid),
    async () => {
      const { attempts, successes, seconds: took, stray } = await closedLoop(lane, sender, connections, forMs);
      ground.attempts += attempts;
      if (stray !== null) throw new Error(`found ${JSON.stringify(stray)}, expected a success`);
      return successes / took;
    },
  );
}

async function yardstick({ target, lane }: Ground, forSeconds: number): Promise<Part> {
  const options = { connections, seconds: forSeconds, script: join(directory, "wrk.lua") };
  return part(target, coreSecondsOfEnded, () => wrk(target.url, patternOf(lane), options));
}

async function part({ pid }: LoadTarget, own: () => number | null, load: () => Promise<number>): Promise<Part> {
  const [ownBefore, serverBefore, began] = [own(), coreSecondsOf(pid), performance.now()];
  const perSecond = await load();
  const took = (performance.now() - began) / 1000;
  const cores = (before: number | null, after: number | null): number | null =>
    before === null || after === null ? null : (after - before) / took;
  return { rate: perSecond, own: cores(ownBefore, own()), server: cores(serverBefore, coreSecondsOf(pid)) };
}

/** What wrk sends: the same request, built by the same builder. */
function patternOf({ traffic, stage }: Lane): Pattern {
  const plan = traffic.plan("first-use", stage.now(), null);
  if (plan === null) throw new Error("a first use needs nothing that went before");
  const { attempt, request } = traffic.builder.build(plan);
  return { request, key: attempt.key ?? "", reference: attempt.reference };
}

/** How late the generator is when it starts so many in a second, whatever the answers do. */
async function open(ground: Ground): Promise<void> {
  const { lane, sender } = ground;
  const load = { rate, durationMs: seconds * 1000, pace: "exponential", seed: 1 } as const;
  const starts = withHolders(scheduleOf([{ target: 0, class: "first-use" }], load), [null]);
  const { signal } = lane.stage;
  const own = { inFlightMax: IN_FLIGHT_MAX, signal, sender, onStart: () => undefined };
  let late = { p50: 0, p99: 0, max: 0 };
  const { own: ownCores, server } = await part(
    ground.target,
    () => coreSecondsOf(process.pid),
    async () => {
      const { started, notStarted, lateness } = await generate(starts, [lane], own);
      ground.attempts += started;
      if (notStarted > 0) throw new Error(`${notStarted} of ${starts.length} were not started`);
      late = lateness;
      return started;
    },
  );
  const cores = coresInWords(ownCores, server);
  const [p50, p99, max] = [late.p50, late.p99, late.max].map((micros) => (micros / 1000).toFixed(2));
  print(`open loop at ${rate} a second: late by p50 ${p50} ms, p99 ${p99} ms, max ${max} ms (${cores} cores)`);
  print(`99 % of starts within ${LATE_MICROS_MAX / 1000} ms: ${late.p99 <= LATE_MICROS_MAX ? "yes" : "no"}`);
}

function inWords({ rate: perSecond, own, server }: Part): string {
  return `${Math.round(perSecond)}/s (${coresInWords(own, server)})`;
}

function coresInWords(...cores: readonly (number | null)[]): string {
  return cores.map((each) => each?.toFixed(2) ?? "?").join(" + ");
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
