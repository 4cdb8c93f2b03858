/**
 * One plain request of every operation before any scenario: a target that does not even answer that
 * correctly, or books that do not show it, would make every later verdict worthless.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { AttemptBuilder } from "./attempt-builder.ts";
import type { Books } from "./event.ts";
import { excerpt } from "./evidence/answers.ts";
import { Failure } from "./fail.ts";
import type { Outcome } from "./operation.ts";
import type { AttemptPlan } from "./scenario.ts";
import { redacted } from "./secrets.ts";
import { lossInWords, sendOnce } from "./send-once.ts";
import type { Stage } from "./stage.ts";

const SCENARIO = "plain-request";
/** An effect may be written a moment after the answer. */
const EFFECT_WITHIN_MS = 3_000;
/** So may the record of its key. */
const RECORD_WITHIN_MS = 2_000;
const BETWEEN_READINGS_MS = 50;
const END_KNOWN_MS = 300;

export async function checkPlainRequests(stage: Stage): Promise<void> {
  const builder = new AttemptBuilder(stage, SCENARIO);
  const { operations, callers } = stage.target.file;
  for (const endpoint of Object.keys(operations)) {
    for (const caller of Object.keys(callers)) {
      await checkPlainRequest(stage, builder, { operation: `${endpoint}-${caller}`, endpoint, caller });
    }
  }
}

export async function checkPlainRequest(stage: Stage, builder: AttemptBuilder, plan: AttemptPlan): Promise<void> {
  const { endpoint, caller } = plan;
  const { attempt, request } = builder.build(plan);
  const url = stage.running.urls[attempt.replica];
  if (url === undefined) throw new Failure("usage", "the target has no URL");
  const outcome = await sendOnce(url, request, { timeoutMs: stage.timeoutMs, signal: stage.signal });
  await checkAnswer(stage, { endpoint, caller, url }, outcome);
  await checkEffect(stage, endpoint, attempt.reference);
  await checkRecord(stage, endpoint, attempt.key);
}

interface Asked {
  readonly endpoint: string;
  readonly caller: string;
  readonly url: URL;
}

async function checkAnswer(stage: Stage, { endpoint, caller, url }: Asked, outcome: Outcome): Promise<void> {
  const { file } = stage.target;
  const expected = file.operations[endpoint]?.success ?? [];
  if (outcome.kind === "responded" && expected.includes(outcome.status)) return;
  const got =
    outcome.kind === "responded"
      ? `${outcome.status} with ${excerpt(redacted(outcome.body.text, stage.secrets)) || "an empty body"}`
      : lossInWords(outcome, stage.timeoutMs);
  throw new Failure(
    "not-ready",
    `${file.name}: a plain ${endpoint} by ${caller} at ${url.origin} got ${got}, expected ${expected.join(" or ")}; ${await advice(stage, outcome)}`,
  );
}

async function advice(stage: Stage, outcome: Outcome): Promise<string> {
  if (outcome.kind === "responded") return "check request, success and callers in the target file";
  if (stage.target.file.start === undefined) return "is the target running there?";
  // A process that ends takes its connections with it a moment before its end is known.
  await sleep(END_KNOWN_MS, undefined, { signal: stage.signal });
  return stage.running.ended() ?? "what the target wrote is in the folder logs of the report directory";
}

async function checkEffect(stage: Stage, endpoint: string, reference: string): Promise<void> {
  const { name, effects } = stage.target.file;
  if (effects === undefined) return;
  const isThere = (books: Books): boolean => books.effects?.some(({ operation }) => operation === reference) ?? false;
  const last = await readUntil(stage, isThere, EFFECT_WITHIN_MS);
  if (isThere(last)) return;
  throw new Failure(
    "not-ready",
    last.failure === null
      ? `${name}: ${endpoint} was acknowledged, and within ${EFFECT_WITHIN_MS} ms the books show no effect whose \`operation\` is its reference ${reference}: either \`effects\` reads something else, or the target loses what it acknowledges`
      : `${name}: the books cannot be read: ${last.failure}`,
  );
}

/** A record that is not read as finished now would be held against the target with every key of the run. */
async function checkRecord(stage: Stage, endpoint: string, key: string | null): Promise<void> {
  const { name, records } = stage.target.file;
  if (records === undefined || key === null) return;
  const statesIn = (books: Books): readonly string[] =>
    books.records?.flatMap((record) => (record.key === key ? [record.state] : [])) ?? [];
  const isFinished = (books: Books): boolean => statesIn(books).some((state) => records.completed.includes(state));
  const last = await readUntil(stage, isFinished, RECORD_WITHIN_MS);
  if (isFinished(last)) return;
  const states = statesIn(last);
  const found =
    states.length === 0
      ? `the books show no record of its key ${key}: either \`records\` reads something else, or the target keeps none`
      : `the record of its key ${key} has the state ${states.join(", ")}, expected one of ${records.completed.join(", ")}: name the state of a finished request in \`records.completed\``;
  throw new Failure(
    "not-ready",
    last.failure === null
      ? `${name}: ${endpoint} was acknowledged, and within ${RECORD_WITHIN_MS} ms ${found}`
      : `${name}: the books cannot be read: ${last.failure}`,
  );
}

/** Reads the books until they show it, or the time is over; the last reading. */
async function readUntil(stage: Stage, isThere: (books: Books) => boolean, withinMs: number): Promise<Books> {
  const end = performance.now() + withinMs;
  for (;;) {
    const books = await stage.books.read();
    if (isThere(books) || performance.now() > end) return books;
    await sleep(BETWEEN_READINGS_MS, undefined, { signal: stage.signal });
  }
}
