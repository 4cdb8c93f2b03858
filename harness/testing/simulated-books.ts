/** Reads the simulated server's books as `probes/books.ts` reads real ones: effects and records side by side. */
import type { Books } from "../event.ts";
import type { SimulatedServer } from "./simulated-server.ts";
import type { Process, VirtualTime } from "./virtual-time.ts";

/** As `probes/books.ts` and `run.ts` have them. */
const QUIET_MS = 250;
const QUIET_WITHIN_MS = 10_000;

export class SimulatedBooks {
  readonly #time: VirtualTime;
  readonly #server: SimulatedServer;
  readonly #isOurKey: (key: string) => boolean;

  constructor(time: VirtualTime, server: SimulatedServer, isOurKey: (key: string) => boolean) {
    this.#time = time;
    this.#server = server;
    this.#isOurKey = isOurKey;
  }

  *read(): Process<Books> {
    const readings = [
      this.#time.start(this.#server.readEffects()),
      this.#time.start(this.#server.readRecords()),
    ] as const;
    const effects = yield* readings[0].join();
    const records = yield* readings[1].join();
    return { effects, records: records.filter(({ key }) => this.#isOurKey(key)), quiet: false, failure: null };
  }

  *readWhenQuiet(): Process<Books> {
    const end = this.#time.now + QUIET_WITHIN_MS * 1000;
    let before = yield* this.read();
    for (;;) {
      yield QUIET_MS * 1000;
      const now = yield* this.read();
      if (JSON.stringify(now) === JSON.stringify(before)) return { ...now, quiet: true };
      if (this.#time.now > end) return now;
      before = now;
    }
  }
}
