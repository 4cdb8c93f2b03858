/**
 * The closed loop: so many clients, each of which sends its next request when it has the answer to its last. It finds
 * how much a target carries; what it says of latencies hides every stall, so it says nothing of them.
 */
import type { Outcome } from "../operation.ts";
import { exchange, type Lane } from "./generator.ts";
import type { Sender } from "./sender.ts";

export interface Carried {
  readonly seconds: number;
  /** Attempts, each with its outcome. */
  readonly attempts: number;
  /** Those that were answered as a first use is. */
  readonly successes: number;
  /** One of the others, if there are any. */
  readonly stray: Outcome | null;
}

/** Every client uses a new key for each request. */
export async function closedLoop(lane: Lane, sender: Sender, clients: number, forMs: number): Promise<Carried> {
  const began = performance.now();
  let attempts = 0;
  let successes = 0;
  let stray: Outcome | null = null;
  const client = async (): Promise<void> => {
    while (performance.now() - began < forMs) {
      const plan = lane.traffic.plan("first-use", lane.stage.now(), null);
      if (plan === null) throw new Error("a first use needs nothing that went before");
      const { outcome } = await exchange(lane, lane.traffic.builder.build(plan), sender);
      attempts += 1;
      if (lane.traffic.belongs("first-use", outcome)) successes += 1;
      else stray ??= outcome;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { seconds: (performance.now() - began) / 1000, attempts, successes, stray };
}
