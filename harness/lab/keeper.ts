/** The harness's side of the keeper: starts and signals processes through it. */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Failure } from "../fail.ts";
import { carryOutLast, type LastCommand } from "./last-command.ts";
import { endStragglers } from "./stragglers.ts";

/** A user that a process runs as. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface StartCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  /** Where its output goes, both streams. */
  readonly log: string;
  /** Texts that must not get into the log. */
  readonly secrets: readonly string[];
  /** What asks it to end. */
  readonly stopSignal: NodeJS.Signals;
  readonly owner?: Owner | undefined;
}

export type ToKeeper =
  | { readonly do: "start"; readonly id: number; readonly command: StartCommand }
  | { readonly do: "signal"; readonly id: number; readonly process: number; readonly signal: NodeJS.Signals }
  | {
      readonly do: "make-directory";
      readonly id: number;
      readonly prefix: string;
      readonly owner?: Owner | undefined;
    }
  | { readonly do: "remove-at-end"; readonly id: number; readonly directory: string }
  | { readonly do: "run-at-end"; readonly id: number; readonly command: LastCommand }
  | { readonly do: "end" };

export type FromKeeper =
  | { readonly to: number; readonly ok: true; readonly pid?: number; readonly directory?: string }
  | { readonly to: number; readonly ok: false; readonly error: string }
  | { readonly left: string }
  | { readonly exited: number; readonly code: number | null; readonly signal: NodeJS.Signals | null };

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface KeptProcess {
  readonly pid: number;
  readonly log: string;
  /** Settles when the process has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  /** Null while it runs. */
  readonly exit: Exit | null;
  signal(signal: NodeJS.Signals): Promise<void>;
}

type Reply = Extract<FromKeeper, { ok: true }>;

export class Keeper implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve(reply: Reply): void; reject(error: Error): void }>();
  readonly #exits = new Map<number, (exit: Exit) => void>();
  readonly #gone: Promise<void>;
  readonly #marker = randomBytes(12).toString("hex");
  readonly #directories: string[] = [];
  readonly #last: LastCommand[] = [];
  #isEnding = false;
  #isGone = false;
  #next = 1;

  constructor() {
    this.#process = fork(fileURLToPath(new URL("./keeper-process.js", import.meta.url)), [this.#marker], {
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      execArgv: [],
    });
    this.#process.on("message", (message) => this.#receive(message as FromKeeper));
    this.#process.on("error", () => undefined);
    this.#gone = new Promise<void>((resolve) => {
      this.#process.once("exit", () => resolve());
      this.#process.once("error", () => resolve());
    }).then(() => this.#lost());
  }

  async start(command: StartCommand): Promise<KeptProcess> {
    const id = this.#next;
    const exited = new Promise<Exit>((resolve) => this.#exits.set(id, resolve));
    const { pid } = await this.#ask({ do: "start", id, command });
    const kept = {
      pid: pid ?? 0,
      log: command.log,
      exited,
      exit: null as Exit | null,
      signal: async (signal: NodeJS.Signals): Promise<void> => {
        await this.#ask({ do: "signal", id: this.#next, process: id, signal });
      },
    };
    void exited.then((exit) => {
      kept.exit = exit;
    });
    return kept;
  }

  /** A new temporary directory; it is removed at the end, whoever brings that about. */
  async makeDirectory(prefix: string, owner?: Owner): Promise<string> {
    const { directory } = await this.#ask({ do: "make-directory", id: this.#next, prefix, owner });
    if (directory === undefined) throw keeperLost();
    this.#directories.push(directory);
    return directory;
  }

  /** A directory of the caller's own is removed at the end too. */
  async removeAtEnd(directory: string): Promise<void> {
    await this.#ask({ do: "remove-at-end", id: this.#next, directory });
    this.#directories.push(directory);
  }

  /** To be run when every process has ended, whoever brings that about. */
  async runAtEnd(command: LastCommand): Promise<void> {
    await this.#ask({ do: "run-at-end", id: this.#next, command });
    this.#last.push(command);
  }

  /** Ends everything that was started; resolves when it has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    if (this.#process.connected) this.#process.send({ do: "end" } satisfies ToKeeper);
    await this.#gone;
  }

  #ask(message: ToKeeper & { readonly id: number }): Promise<Reply> {
    this.#next += 1;
    if (this.#isGone) return Promise.reject(keeperLost());
    return new Promise((resolve, reject) => {
      this.#waiting.set(message.id, { resolve, reject });
      this.#process.send(message, (error) => error && reject(keeperLost()));
    });
  }

  #receive(message: FromKeeper): void {
    if ("exited" in message) {
      this.#exits.get(message.exited)?.({ code: message.code, signal: message.signal });
      return;
    }
    if ("left" in message) {
      tellWhatIsLeft(message.left);
      return;
    }
    const waiting = this.#waiting.get(message.to);
    this.#waiting.delete(message.to);
    if (message.ok) waiting?.resolve(message);
    else waiting?.reject(new Failure("not-ready", message.error));
  }

  /** A keeper that ended without being asked has left its work to us. */
  async #lost(): Promise<void> {
    this.#isGone = true;
    for (const { reject } of this.#waiting.values()) reject(keeperLost());
    this.#waiting.clear();
    for (const exited of this.#exits.values()) exited({ code: null, signal: "SIGKILL" });
    if (this.#isEnding) return;
    await endStragglers(this.#marker, this.#directories);
    for (const left of await Promise.all(this.#last.map(carryOutLast))) if (left !== null) tellWhatIsLeft(left);
    for (const directory of this.#directories) await rm(directory, { recursive: true, force: true });
  }
}

/** A finding of its own: the run is over and its verdict stands, but somebody has to tidy up. */
function tellWhatIsLeft(left: string): void {
  console.error(`idemproof: left behind: ${left}`);
}

function keeperLost(): Failure {
  return new Failure("target-lost", "the process that keeps the lab has ended");
}

const TAIL_LINES = 20;

/** The last lines a process wrote, for an error message. */
export async function lastLines(log: string): Promise<string> {
  const text = await readFile(log, "utf8").catch(() => "");
  const lines = text.trimEnd().split("\n").slice(-TAIL_LINES);
  return lines.join("\n").trim() === ""
    ? "    (it wrote nothing)"
    : lines.map((line) => `    ${line.slice(0, 400)}`).join("\n");
}

/** The harness's own environment, for what it starts. */
export function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
