/**
 * How long things take in one simulated run. The seed decides whether network and database are fast or slow
 * beside each other, and now and then one message takes far longer: that is what makes every order of events occur.
 */
import type { Micros } from "../operation.ts";
import type { Random } from "../random.ts";

/** One in so many takes `TAIL_FACTOR` times as long. */
const TAIL_ONE_IN = 50;
const TAIL_FACTOR = 12;

export class Pace {
  readonly #random: Random;
  readonly #network: Micros;
  readonly #statement: Micros;

  constructor(random: Random) {
    this.#random = random;
    this.#network = random.pick([40, 300, 1_500]);
    this.#statement = random.pick([30, 200, 900]);
  }

  /** One way between client and replica. */
  network(): Micros {
    return this.#around(this.#network);
  }

  /** One way between replica and database. */
  statement(): Micros {
    return this.#around(this.#statement);
  }

  /** Between two things that a client does. */
  turn(): Micros {
    return 1 + this.#random.below(60);
  }

  work(ms: number): Micros {
    return ms * 1000 * (0.95 + 0.3 * this.#random.next());
  }

  #around(typical: Micros): Micros {
    const factor = this.#random.below(TAIL_ONE_IN) === 0 ? TAIL_FACTOR : 1;
    return typical * factor * (0.2 + 1.6 * this.#random.next());
  }
}
