/**
 * One plain request of every operation before any scenario: a target that does not even answer that
 * correctly, or books that do not show it, would make every later verdict worthless.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { AttemptBuilder } from "./attempt-builder.ts";
import type { Effect } from "./event.ts";
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
  if (stage.target.file.effects === undefined) return;
  const end = performance.now() + EFFECT_WITHIN_MS;
  let effects: readonly Effect[] = [];
  let failure: string | null = null;
  do {
    ({ effects, failure } = await readEffects(stage));
    if (effects.some(({ operation }) => operation === reference)) return;
    await sleep(BETWEEN_READINGS_MS, undefined, { signal: stage.signal });
  } while (performance.now() < end);
  const { name } = stage.target.file;
  throw new Failure(
    "not-ready",
    failure === null
      ? `${name}: ${endpoint} was acknowledged, and within ${EFFECT_WITHIN_MS} ms the books show no effect whose \`operation\` is its reference ${reference}: either \`effects\` reads something else, or the target loses what it acknowledges`
      : `${name}: the books cannot be read: ${failure}`,
  );
}

async function readEffects(stage: Stage): Promise<{ effects: readonly Effect[]; failure: string | null }> {
  const { effects, failure } = await stage.books.read();
  return { effects: effects ?? [], failure };
}
