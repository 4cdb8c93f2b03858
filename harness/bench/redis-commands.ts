/**
 * How many commands a Redis server has carried out, as it counts them itself (Redis documentation, "INFO",
 * section commandstats). What a script runs counts, too. Our own question does not.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { Failure, messageOf } from "../fail.ts";
import type { Calls } from "./costs.ts";

const ANSWER_MS = 5_000;
const PORT = 6379;
const QUESTION = "info";

export class RedisCounter implements AsyncDisposable {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(url: string): Promise<RedisCounter> {
    const { protocol, hostname, port, username, password } = new URL(url);
    const place = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || PORT) };
    const isTls = protocol === "rediss:";
    const socket = isTls ? connectTls({ ...place, servername: place.host }) : connect(place);
    socket.setNoDelay(true);
    try {
      await once(socket, isTls ? "secureConnect" : "connect", { signal: AbortSignal.timeout(ANSWER_MS) });
      // What breaks later is reported by the next question.
      socket.on("error", () => undefined);
      const counter = new RedisCounter(socket);
      const credentials = [username, password].filter((text) => text !== "").map(decodeURIComponent);
      if (password !== "") await counter.#ask("auth", ...credentials);
      await counter.calls();
      return counter;
    } catch (error) {
      socket.destroy();
      throw unreadable(`${place.host}:${place.port}`, error);
    }
  }

  /** How often each command was called so far, by its name. */
  async calls(): Promise<Calls> {
    const text = await this.#ask(QUESTION, "commandstats");
    const lines = [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
    return Object.fromEntries(
      lines.map(([, name = "", calls]) => [name, Number(calls)] as const).filter(([name]) => name !== QUESTION),
    );
  }

  /** One question at a time. Simple and bulk strings are all that is answered to what we ask. */
  async #ask(...words: readonly string[]): Promise<string> {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.#socket.write(`*${words.length}\r\n${parts.join("")}`);
    const signal = AbortSignal.timeout(ANSWER_MS);
    let answer = "";
    for (;;) {
      const [bytes] = (await once(this.#socket, "data", { signal })) as [Buffer];
      // Names and numbers of ASCII only: a character is a byte.
      answer += bytes.toString("latin1");
      const [head, length] = /^[$+-](\d*).*\r\n/.exec(answer) ?? [];
      if (head === undefined) continue;
      if (answer.startsWith("-")) throw new Error(answer.slice(1).trim());
      if (answer.startsWith("+")) return answer.slice(1).trim();
      if (answer.length >= head.length + Number(length) + 2) return answer.slice(head.length);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
  }
}

function unreadable(place: string, cause: unknown): Failure {
  return new Failure("not-ready", `the commands of Redis at ${place} cannot be counted (${messageOf(cause)})`, {
    cause,
  });
}
