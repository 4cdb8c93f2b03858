/**
 * Where a target's processes ask what is to happen to them: at every phase that an operation under a fault
 * passes, the process asks and waits for the answer. So a fault strikes exactly there, whatever it is, and the
 * harness knows that it did. Production never has the address, and opens no such channel.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import type { Directive } from "../fault.ts";

const passSchema = z.object({
  phase: z.string(),
  /** The client's key. */
  key: z.string(),
  /** The number that the lab gave the process, or what it calls itself. */
  replica: z.string(),
});

/** Runs while the process waits; what it returns is what the process then does. */
export type Strike = (replica: number | null) => Promise<Directive>;

interface Armed {
  readonly key: string;
  readonly phase: string;
  passesLeft: number;
  readonly strike: Strike;
}

/** More than a question is a mistake. */
const QUESTION_BYTES_MAX = 16 * 1024;

export class Failpoints implements AsyncDisposable {
  readonly #server: Server;
  readonly #armed = new Set<Armed>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => {
      void this.#answer(request).then((answer) => {
        // The process may be gone by now: that was the fault.
        if (!response.destroyed) response.end(JSON.stringify(answer));
      });
    });
  }

  static async open(): Promise<Failpoints> {
    const server = createServer();
    // A process that was stopped for seconds must still find its connection.
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    server.unref();
    return new Failpoints(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Strikes at the `pass`-th time from now that the key passes the phase, once. Returns what takes it back. */
  arm({ key, phase, pass }: { key: string; phase: string; pass: number }, strike: Strike): () => void {
    const armed: Armed = { key, phase, passesLeft: pass, strike };
    this.#armed.add(armed);
    return () => this.#armed.delete(armed);
  }

  async #answer(request: IncomingMessage): Promise<Directive> {
    try {
      const { phase, key, replica } = passSchema.parse(JSON.parse(await textOf(request)));
      const due = [...this.#armed].filter((armed) => armed.key === key && armed.phase === phase && isDue(armed));
      for (const armed of due) this.#armed.delete(armed);
      const [first] = due;
      if (first === undefined) return { do: "go" };
      const number = Number(replica);
      return await first.strike(Number.isInteger(number) && replica !== "" ? number : null);
    } catch {
      // A question that cannot be read, or a fault that could not be injected, changes nothing: the player tells.
      return { do: "go" };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function isDue(armed: Armed): boolean {
  armed.passesLeft -= 1;
  return armed.passesLeft === 0;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request as AsyncIterable<string>) {
    text += chunk;
    if (text.length > QUESTION_BYTES_MAX) throw new Error("the question is too long");
  }
  return text;
}
