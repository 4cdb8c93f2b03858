/** The lab's end of the failpoints, for tests: it remembers every pass and strikes where it was told to. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Phase } from "../failpoints.ts";

interface Pass {
  readonly phase: Phase;
  readonly key: string;
  readonly replica: string;
}

/** Runs while the process waits; gives what it is told. */
type Strike = () => Promise<object> | object;

export class TestFailpoints implements AsyncDisposable {
  readonly #server: Server;
  readonly #passes: Pass[] = [];
  readonly #strikes: { readonly key: string; readonly phase: Phase; readonly strike: Strike }[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", async (request, response) => {
      const pass = (await json(request)) as Pass;
      this.#passes.push(pass);
      const index = this.#strikes.findIndex(({ key, phase }) => key === pass.key && phase === pass.phase);
      const [due] = index < 0 ? [] : this.#strikes.splice(index, 1);
      const answer = due === undefined ? { do: "go" } : await due.strike();
      response.end(JSON.stringify(answer));
    });
  }

  static async start(): Promise<TestFailpoints> {
    const server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    return new TestFailpoints(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Strikes once, the next time that the key passes the phase. */
  strike(key: string, phase: Phase, strike: Strike): void {
    this.#strikes.push({ key, phase, strike });
  }

  passesOf(key: string): Phase[] {
    return this.#passes.filter((pass) => pass.key === key).map(({ phase }) => phase);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
