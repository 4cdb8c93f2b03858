import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { cleanRegularly } from "./cleaning.ts";

test("a run that takes longer than the interval is never joined by a second", async () => {
  let running = 0;
  let most = 0;
  let runs = 0;
  const stop = cleanRegularly(1, async () => {
    running += 1;
    runs += 1;
    most = Math.max(most, running);
    await sleep(20);
    running -= 1;
  });
  await sleep(120);
  await stop();
  expect(most).toBe(1);
  expect(runs).toBeGreaterThan(1);
});

test("stopping tells the run that is under way, waits for it, and none follows", async () => {
  let [begun, ended] = [0, 0];
  const stop = cleanRegularly(1, async (signal) => {
    begun += 1;
    while (!signal.aborted) await sleep(1);
    await sleep(20);
    ended += 1;
  });
  await sleep(20);
  await stop();
  expect([begun, ended]).toEqual([1, 1]);
  await sleep(20);
  expect(begun).toBe(1);
});

test("stopping does not wait for the next run", async () => {
  const stop = cleanRegularly(3_600_000, async () => undefined);
  await stop();
});
