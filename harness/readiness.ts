/**
 * One plain request of every operation before any scenario: a target that does not even answer that
 * correctly, or books that do not show it, would make every later verdict worthless.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, excerpt } from "./answers.ts";
import { AttemptBuilder } from "./attempt-builder.ts";
import { openExchange } from "./burst/exchange.ts";
import type { Effect } from "./event.ts";
import { Failure } from "./fail.ts";
import type { Outcome } from "./operation.ts";
import { redacted } from "./secrets.ts";
import type { Stage } from "./stage.ts";

const SCENARIO = "plain-request";
/** An effect may be written a moment after the answer. */
const EFFECT_WITHIN_MS = 3_000;

export async function checkPlainRequests(stage: Stage): Promise<void> {
  const builder = new AttemptBuilder(stage, SCENARIO);
  const { operations, callers } = stage.target.file;
  for (const endpoint of Object.keys(operations)) {
    for (const caller of Object.keys(callers)) {
      const { attempt, request } = builder.build({ operation: `${endpoint}-${caller}`, endpoint, caller });
      const url = stage.running.urls[attempt.replica];
      if (url === undefined) throw new Failure("usage", "the target has no URL");
      const exchange = openExchange(url, request, { gate: "none", timeoutMs: stage.timeoutMs });
      await exchange.armed;
      exchange.release();
      checkAnswer(stage, endpoint, caller, await exchange.outcome);
      await checkEffect(stage, endpoint, attempt.reference);
    }
  }
}

function checkAnswer(stage: Stage, endpoint: string, caller: string, outcome: Outcome): void {
  const expected = stage.target.file.operations[endpoint]?.success ?? [];
  if (outcome.kind === "responded" && expected.includes(outcome.status)) return;
  const detail =
    outcome.kind === "responded"
      ? ` with ${excerpt(redacted(outcome.body.text, stage.secrets))}`
      : outcome.kind === "indeterminate" && outcome.detail
        ? ` (${outcome.detail})`
        : "";
  throw new Failure(
    "not-ready",
    `${stage.target.file.name}: a plain ${endpoint} by ${caller} got ${describe(outcome)}${detail}, expected ${expected.join(" or ")}; check request, success and callers in the target file`,
  );
}

async function checkEffect(stage: Stage, endpoint: string, reference: string): Promise<void> {
  if (stage.target.file.effects === undefined) return;
  const end = performance.now() + EFFECT_WITHIN_MS;
  let effects: readonly Effect[] = [];
  let failure: string | null = null;
  do {
    ({ effects = [], failure } = await readEffects(stage));
    if (effects.some(({ operation }) => operation === reference)) return;
    await sleep(50, undefined, { signal: stage.signal });
  } while (performance.now() < end);
  throw new Failure(
    "not-ready",
    failure === null
      ? `${stage.target.file.name}: ${endpoint} was acknowledged, and within ${EFFECT_WITHIN_MS} ms the books show no effect whose \`operation\` is its reference ${reference}: either \`effects\` reads something else, or the target loses what it acknowledges`
      : `${stage.target.file.name}: the books cannot be read: ${redacted(failure, stage.secrets)}`,
  );
}

async function readEffects(stage: Stage): Promise<{ effects: readonly Effect[]; failure: string | null }> {
  const { effects, failure } = await stage.books.read();
  return { effects: effects ?? [], failure };
}
