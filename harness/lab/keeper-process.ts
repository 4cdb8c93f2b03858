/**
 * The keeper: a small process of its own that starts everything a run needs and outlives the run by
 * seconds. When the harness is gone, however it went, the channel closes, and the keeper ends what it
 * started and removes the directories it was told of. So nothing is left after a SIGKILL of the harness.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream, type WriteStream } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { FromKeeper, StartCommand, ToKeeper } from "./keeper.ts";

/** Time between asking a process to end and ending it. */
const GRACE_MS = 1_000;
/** A log beyond this is cut: a target that logs without end must not fill the disk. */
const LOG_BYTES_MAX = 32 * 1024 * 1024;
/** A line beyond this is written in parts. */
const LINE_CHARACTERS_MAX = 64 * 1024;
/** A directory may still be written to by a process that is ending. */
const REMOVE_TRIES = 20;

interface Kept {
  readonly child: ChildProcess;
  readonly stopSignal: NodeJS.Signals;
  hasExited: boolean;
}

const marker = process.argv[2] ?? "";
const kept = new Map<number, Kept>();
const directories = new Set<string>();
let isEnding = false;

process.on("disconnect", () => void end());
process.on("message", (message) => void receive(message as ToKeeper));
// The terminal's Ctrl-C is for the harness, which then asks us to end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

async function receive(message: ToKeeper): Promise<void> {
  switch (message.do) {
    case "start":
      start(message.id, message.command);
      return;
    case "signal": {
      const found = kept.get(message.process);
      if (found && !found.hasExited) signalGroup(found.child, message.signal);
      reply({ to: message.id, ok: true });
      return;
    }
    case "remove-at-end":
      directories.add(message.directory);
      reply({ to: message.id, ok: true });
      return;
    case "end":
      await end();
  }
}

function start(id: number, command: StartCommand): void {
  if (isEnding) return;
  const child = spawn(command.file, command.args, {
    cwd: command.directory,
    env: { ...command.env, IDEMPROOF_RUN: marker },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that a shell's children are signalled with it.
    detached: true,
    ...(command.uid === undefined ? {} : { uid: command.uid }),
    ...(command.gid === undefined ? {} : { gid: command.gid }),
  });
  const entry: Kept = { child, stopSignal: command.stopSignal, hasExited: false };
  const log = createWriteStream(command.log, { flags: "a" });
  log.on("error", () => undefined);
  const sink = new Log(log, command.secrets);
  if (child.stdout) sink.take(child.stdout);
  if (child.stderr) sink.take(child.stderr);
  child.on("error", (error) => reply({ to: id, ok: false, error: error.message }));
  child.on("spawn", () => {
    if (child.pid === undefined) return;
    kept.set(id, entry);
    reply({ to: id, ok: true, pid: child.pid });
  });
  child.on("exit", (code, signal) => {
    entry.hasExited = true;
    // The last lines of a log come after the exit; "close" waits for them.
    child.on("close", () => reply({ exited: id, code, signal }));
  });
}

/** Writes a process's output line by line, without the secrets of callers. */
class Log {
  readonly #stream: WriteStream;
  readonly #secrets: readonly string[];
  #bytes = 0;

  constructor(stream: WriteStream, secrets: readonly string[]) {
    this.#stream = stream;
    this.#secrets = secrets;
  }

  take(source: Readable): void {
    let rest = "";
    source.setEncoding("utf8");
    source.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#write(`${line}\n`);
      if (rest.length > LINE_CHARACTERS_MAX) {
        this.#write(`${rest}\n`);
        rest = "";
      }
    });
    source.on("end", () => rest !== "" && this.#write(`${rest}\n`));
  }

  #write(line: string): void {
    if (this.#bytes > LOG_BYTES_MAX) return;
    let text = line;
    for (const secret of this.#secrets) text = text.replaceAll(secret, "[redacted]");
    this.#bytes += Buffer.byteLength(text);
    this.#stream.write(this.#bytes > LOG_BYTES_MAX ? "[the log goes on and is cut here]\n" : text);
  }
}

async function end(): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  const running = () => [...kept.values()].filter(({ hasExited }) => !hasExited);
  for (const { child, stopSignal } of running()) {
    signalGroup(child, "SIGCONT");
    signalGroup(child, stopSignal);
  }
  for (let waited = 0; running().length > 0 && waited < GRACE_MS; waited += 20) await sleep(20);
  // Even of a group whose leader has ended, members may be left.
  for (const { child } of kept.values()) signalGroup(child, "SIGKILL");
  await endMarked();
  for (const directory of directories) await remove(directory);
  if (process.connected) process.disconnect();
  process.exit(0);
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is gone already, which is what a signal to it would have achieved.
  }
}

/** Ends what left its group: every process that still carries this run's marker in its environment (Linux). */
async function endMarked(): Promise<void> {
  const wanted = `IDEMPROOF_RUN=${marker}\0`;
  const names = await readdir("/proc").catch(() => []);
  for (const pid of names.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)) {
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (!`${environment}\0`.includes(wanted)) continue;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It ended between the look and the signal.
    }
  }
}

async function remove(directory: string): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES; tries += 1) {
    try {
      await rm(directory, { recursive: true, force: true });
      return;
    } catch {
      await sleep(100);
    }
  }
}

function reply(message: FromKeeper): void {
  // The harness may be gone; then nobody waits for the answer.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}
