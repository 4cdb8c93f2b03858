/**
 * Failpoints: at each phase boundary of a request that asks for it, the lab decides what happens next. Opened
 * only with LAB=on and FAILPOINTS_URL; a request without the header passes without a question.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";

export type Phase =
  | "before-claim"
  | "taking-over"
  | "claimed"
  | "intent-recorded"
  | "downstream-called"
  | "outcome-recorded"
  | "before-effect"
  | "before-completion"
  | "before-commit"
  | "committed"
  | "replaying"
  | "reconciling";

export interface Failpoints {
  readonly url: string;
  /** Which process asks. */
  readonly replica: string;
}

/** Who passes phases, and where to ask. */
interface Passing extends Failpoints {
  readonly key: string;
}

type Directive =
  | { readonly do: "go" }
  | { readonly do: "delay"; readonly ms: number }
  | { readonly do: "throw" }
  | { readonly do: "hang" };

const passing = new AsyncLocalStorage<Passing>();

/** The lab made this phase fail. */
class FailpointError extends Error {}

/** Every request that says `lab-failpoints: on` asks at each of its phases. Before the key layer's own hooks. */
export function openFailpoints(app: FastifyInstance, failpoints: Failpoints): void {
  app.addHook("preHandler", (request, _reply, done) => {
    const key = request.headers["idempotency-key"];
    if (request.headers["lab-failpoints"] !== "on" || typeof key !== "string") done();
    else passing.run({ ...failpoints, key }, done);
  });
}

/** The same for a process that has no requests. */
export function passAs(failpoints: Failpoints | null, key: string, phase: Phase): Promise<void> {
  return failpoints === null ? Promise.resolve() : passing.run({ ...failpoints, key }, () => pass(phase));
}

/** The answer may take long: while it holds it back, the lab kills, pauses or cuts. */
export async function pass(phase: Phase): Promise<void> {
  const asking = passing.getStore();
  if (asking === undefined) return;
  const { url, key, replica } = asking;
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ phase, key, replica }),
  });
  await obey((await answer.json()) as Directive, phase);
}

async function obey(directive: Directive, phase: Phase): Promise<void> {
  switch (directive.do) {
    case "go":
      return;
    case "delay":
      await sleep(directive.ms);
      return;
    case "throw":
      throw new FailpointError(`The lab made ${phase} fail`);
    case "hang":
      await new Promise(() => undefined);
  }
}
