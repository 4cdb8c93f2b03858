/** The one outcome of an exchange. The first that comes counts, and none is waited for longer than the limit. */
import type { Outcome } from "../operation.ts";

export class Settlement {
  readonly outcome: Promise<Outcome>;
  readonly #onSettled: () => void;
  #resolve: (outcome: Outcome) => void = () => undefined;
  #isSettled = false;
  #clock: NodeJS.Timeout | undefined;

  /** `onSettled` closes what the exchange had opened; it runs once. */
  constructor(onSettled: () => void) {
    this.#onSettled = onSettled;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  settle(outcome: Outcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#clock);
    this.#resolve(outcome);
    this.#onSettled();
  }

  startClock(timeoutMs: number): void {
    if (this.#isSettled) return;
    this.#clock = setTimeout(() => this.settle({ kind: "indeterminate", reason: "timeout" }), timeoutMs);
  }
}
