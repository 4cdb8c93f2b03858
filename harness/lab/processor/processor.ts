/** The lab's processor: started with the run, told how to treat single operations, asked for its account. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Account } from "../../account.ts";
import { Failure } from "../../fail.ts";
import { endOf } from "../ended.ts";
import { type Keeper, type KeptProcess, lastLines, ownEnvironment } from "../keeper.ts";
import { freePort, isListening, isPortTaken, START_TRIES } from "../port.ts";
import type { ServiceOptions } from "../postgres.ts";
import type { Behaviour, CarriedOut, Instruction } from "./instruction.ts";
import type { ProcessorOptions } from "./processor-server.ts";

const READY_MS = 10_000;
/** One question to a process of our own on loopback. */
const ASK_MS = 5_000;

const PROCESS = fileURLToPath(new URL("./processor-process.js", import.meta.url));

const accountSchema: z.ZodType<Account> = z.object({
  calls: z.array(
    z.object({
      kind: z.enum(["charge", "query"]),
      key: z.string().nullable(),
      reference: z.string().nullable(),
      result: z.enum(["charged", "declined", "replayed", "failed", "mismatch", "in-flight", "found", "unknown"]),
      charge: z.string().nullable(),
    }),
  ),
  charges: z.array(
    z.object({
      id: z.string(),
      key: z.string().nullable(),
      reference: z.string(),
      amount: z.string(),
      currency: z.string(),
      status: z.enum(["succeeded", "declined"]),
    }),
  ),
});

export class Processor {
  readonly url: string;
  /** Says that it has ended, or null while it runs. */
  readonly ended: () => string | null;

  private constructor(url: string, process: KeptProcess) {
    this.url = url;
    this.ended = () => endOf("the processor", process);
  }

  /** `logs` is the folder for its log. */
  static async start(
    keeper: Keeper,
    logs: string,
    { honoursKeys, secrets, signal }: ServiceOptions & ProcessorOptions,
  ): Promise<Processor> {
    const log = join(logs, "processor.log");
    for (let tries = 1; ; tries += 1) {
      const port = await freePort();
      const started = await keeper.start({
        file: process.execPath,
        args: [PROCESS],
        env: { ...ownEnvironment(), PORT: String(port), HONOURS_KEYS: honoursKeys ? "yes" : "no" },
        directory: "/",
        log,
        secrets,
        stopSignal: "SIGTERM",
      });
      if (await isListening(started, port, READY_MS, signal)) return new Processor(`http://127.0.0.1:${port}`, started);
      const lines = await lastLines(log);
      if (tries < START_TRIES && isPortTaken(lines)) continue;
      throw new Failure("not-ready", `the processor does not come up; its last lines:\n${lines}`);
    }
  }

  /** How to treat the next calls for a reference. Taking it back tells how many calls were treated so. */
  async instruct(reference: string, behaviours: readonly Behaviour[]): Promise<() => Promise<number>> {
    await this.#tell({ reference, behaviours: [...behaviours] });
    return async () => (await this.#tell({ reference, behaviours: [] })).carriedOut;
  }

  async account(): Promise<Account> {
    return accountSchema.parse(await this.#ask("/lab/account"));
  }

  async #tell(instruction: Instruction): Promise<CarriedOut> {
    const answer = await this.#ask("/lab/instructions", { method: "POST", body: JSON.stringify(instruction) });
    return answer as CarriedOut;
  }

  async #ask(path: string, init: RequestInit = {}): Promise<unknown> {
    const response = await fetch(new URL(path, this.url), { ...init, signal: AbortSignal.timeout(ASK_MS) });
    if (!response.ok) throw new Error(`the processor answered ${response.status} to ${path}`);
    return response.json();
  }
}
