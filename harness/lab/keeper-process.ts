/**
 * The keeper: a small process of its own that starts everything a run needs and outlives the run by
 * seconds. When the harness is gone, however it went, the channel closes, and the keeper ends what it
 * started, runs what is to be run at the end, and removes the directories it made. So nothing is left after a SIGKILL of the harness.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { FromKeeper, StartCommand, ToKeeper } from "./keeper.ts";
import { carryOutLast, type LastCommand } from "./last-command.ts";
import { ProcessLog } from "./process-log.ts";
import { endStragglers, MARKER } from "./stragglers.ts";
import { isWalkable } from "./walkable.ts";

/** Time between asking a process to end and ending it. */
const GRACE_MS = 1_000;
/** What was killed is gone at once; its last lines may take a moment to reach the log. */
const LAST_LINES_MS = 1_000;
/** A directory may still be written to by a process that is ending. */
const REMOVE_TRIES = 20;

interface Kept {
  readonly child: ChildProcess;
  readonly stopSignal: NodeJS.Signals;
  readonly log: ProcessLog;
  hasExited: boolean;
}

const marker = process.argv[2] ?? "";
const kept = new Map<number, Kept>();
const directories = new Set<string>();
const last: LastCommand[] = [];
let isEnding = false;

process.on("disconnect", () => void end());
process.on("message", (message) => void receive(message as ToKeeper));
// The terminal's Ctrl-C is for the harness, which then asks us to end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
// Nobody reads what a keeper says; what it must not do is leave without what it started.
process.on("uncaughtException", () => void end());
// The harness may have been killed before there was anybody to hear of it.
if (!process.connected) void end();

async function receive(message: ToKeeper): Promise<void> {
  if (message.do === "end") return end();
  try {
    carryOut(message);
  } catch (error) {
    reply({ to: message.id, ok: false, error: error instanceof Error ? error.message : String(error) });
  }
}

function carryOut(message: Exclude<ToKeeper, { do: "end" }>): void {
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
    case "make-directory":
      reply({ to: message.id, ok: true, directory: makeDirectory(message) });
      return;
    case "remove-at-end":
      directories.add(message.directory);
      reply({ to: message.id, ok: true });
      return;
    case "run-at-end":
      if (isEnding) throw new Error("the lab is being taken down");
      last.push(message.command);
      reply({ to: message.id, ok: true });
  }
}

/** Made and noted in one go: a harness that is killed cannot come between. */
function makeDirectory({ prefix, owner }: Extract<ToKeeper, { do: "make-directory" }>): string {
  if (isEnding) throw new Error("the lab is being taken down");
  // Its owner must get to it, and a temporary directory of the user's own may be closed to others.
  const base = owner === undefined || isWalkable(tmpdir()) ? tmpdir() : "/tmp";
  const directory = mkdtempSync(join(base, prefix));
  directories.add(directory);
  if (owner) chownSync(directory, owner.uid, owner.gid);
  return directory;
}

function start(id: number, command: StartCommand): void {
  if (isEnding) throw new Error("the lab is being taken down");
  const child = spawn(command.file, command.args, {
    cwd: command.directory,
    env: { ...command.env, [MARKER]: marker },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that a shell's children are signalled with it.
    detached: true,
    ...command.owner,
  });
  const log = new ProcessLog(command.log, command.secrets);
  const entry: Kept = { child, stopSignal: command.stopSignal, log, hasExited: false };
  if (child.stdout) log.take(child.stdout);
  if (child.stderr) log.take(child.stderr);
  if (child.pid !== undefined) kept.set(id, entry);
  child.on("error", (error) => reply({ to: id, ok: false, error: error.message }));
  child.on("spawn", () => child.pid !== undefined && reply({ to: id, ok: true, pid: child.pid }));
  child.on("exit", (code, signal) => {
    entry.hasExited = true;
    // A child of its own that holds the output open would keep the log from ever being whole.
    void Promise.race([log.close(), sleep(LAST_LINES_MS)]).then(() => reply({ exited: id, code, signal }));
  });
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
  await endStragglers(marker, [...directories]);
  await Promise.race([Promise.all([...kept.values()].map(({ log }) => log.close())), sleep(LAST_LINES_MS)]);
  for (const left of await Promise.all(last.map(carryOutLast))) if (left !== null) reply({ left });
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
