/** What of a run is still there: its processes and its directories, as the system shows them (Linux). */
import { readdir, readFile, readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { accepts } from "../lab/port.ts";

/** The variable by which a test knows all processes of a run that it started. */
export const TEST_RUN = "IDEMPROOF_TEST_RUN";

export interface LivingProcess {
  readonly pid: number;
  readonly command: string;
}

/** Processes whose environment holds the test's mark, or that stand in its directory. */
export async function livingOf(mark: string, directory: string): Promise<readonly LivingProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid): Promise<LivingProcess[]> => {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      const place = await readlink(`/proc/${pid}/cwd`).catch(() => "");
      if (!environment.includes(`${TEST_RUN}=${mark}`) && !place.startsWith(directory)) return [];
      const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return [{ pid: Number(pid), command: command.replaceAll("\0", " ").trim() }];
    }),
  );
  return found.flat();
}

/** Ports that processes of a run were told to listen on. */
export async function portsOf(living: readonly LivingProcess[]): Promise<readonly number[]> {
  const environments = await Promise.all(
    living.map(({ pid }) => readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")),
  );
  const given = environments.flatMap((text) => [...text.matchAll(/\0(?:HTTP2_)?PORT=(\d+)/g)].map(([, port]) => port));
  const told = living.map(({ command }) => / -p(?:ort)? (\d+)/.exec(command)?.[1]);
  return [...new Set([...given, ...told].flatMap((port) => (port === undefined ? [] : [Number(port)])))];
}

/** What is left, as lines; empty as soon as nothing is, or what is left when the time is over. */
export async function leftAfter(
  withinMs: number,
  { mark, directory, ports = [] }: { mark: string; directory: string; ports?: readonly number[] },
): Promise<readonly string[]> {
  const end = performance.now() + withinMs;
  for (;;) {
    const living = (await livingOf(mark, directory)).map(({ pid, command }) => `process ${pid} ${command}`);
    const files = (await readdir(directory)).map((name) => `directory ${name}`);
    const open = (await Promise.all(ports.map((port) => accepts(port)))).flatMap((isOpen, index) =>
      isOpen ? [`port ${ports[index]}`] : [],
    );
    const left = [...living, ...files, ...open];
    if (left.length === 0 || performance.now() > end) return left;
    await sleep(50);
  }
}
