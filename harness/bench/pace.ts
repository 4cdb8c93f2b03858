/**
 * The open loop: starts what is due when it is due, whatever became of what was started before. A target that
 * stalls is thereby charged for every request that it delayed. Who is late itself starts the overdue at once.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Micros } from "../operation.ts";

export interface PaceClock {
  now(): Micros;
  /** Comes back no later than a millisecond after this time. */
  sleepMs(ms: number): Promise<void>;
  /** Lets answers be read, and comes back at once. */
  turn(): Promise<void>;
}

/** Answers are read in between, however many starts are overdue. */
const STARTS_AT_ONCE_MAX = 16;
/** A timer fires up to so much late; the rest of the wait is spent turning. */
const TIMER_MICROS = 1_200;

/** `start` gets the index and by how much it is late. False ends the loop. */
export async function pace(
  intents: readonly Micros[],
  clock: PaceClock,
  start: (index: number, lateMicros: Micros) => boolean,
): Promise<void> {
  let atOnce = 0;
  for (const [index, intent] of intents.entries()) {
    for (let left = intent - clock.now(); left > 0; left = intent - clock.now()) {
      atOnce = 0;
      await (left > TIMER_MICROS ? clock.sleepMs(Math.floor((left - TIMER_MICROS) / 1000) + 1) : clock.turn());
    }
    if (atOnce >= STARTS_AT_ONCE_MAX) {
      atOnce = 0;
      await clock.turn();
    }
    atOnce += 1;
    if (!start(index, clock.now() - intent)) return;
  }
}

export function paceClock(now: () => Micros): PaceClock {
  return {
    now,
    sleepMs: async (ms) => void (await sleep(ms)),
    // At a high rate it turns all the time, and what one turn allocates is collected in somebody's latency.
    turn: () => new Promise(setImmediate),
  };
}
