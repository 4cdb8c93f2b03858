import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ReportDirectory } from "./report-directory.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idemproof-claim-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const place = (name: string): string => join(folder, name);

/** A process of ours that claims the directory and keeps it. */
async function holderOf(path: string): Promise<{ pid: number; kill: () => Promise<void> }> {
  const module = JSON.stringify(join(import.meta.dirname, "report-directory.js"));
  const script = `const { ReportDirectory } = await import(${module});
    await ReportDirectory.claim(${JSON.stringify(path)});
    console.log("claimed"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return {
    pid: child.pid ?? 0,
    kill: async () => {
      child.kill("SIGKILL");
      await once(child, "close");
    },
  };
}

test("a directory is one writer's until he is done, and nothing of the claim is left", async () => {
  const path = place("in-turn/below");
  {
    await using first = await ReportDirectory.claim(path);
    await expect(ReportDirectory.claim(first.path)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringMatching(
        new RegExp(
          `in-turn/below is being written by process ${process.pid} \\(since .*Z\\); wait for it or give another`,
        ),
      ),
    });
  }
  expect(await readdir(path)).toEqual([]);
  await using again = await ReportDirectory.claim(path);
  expect(await readdir(again.path)).toHaveLength(1);
});

test("a process that was killed blocks nobody, and one that lives does", async () => {
  const path = place("killed");
  const holder = await holderOf(path);
  await expect(ReportDirectory.claim(path)).rejects.toThrow(`is being written by process ${holder.pid} `);
  await holder.kill();
  await using next = await ReportDirectory.claim(path);
  await expect(ReportDirectory.claim(next.path)).rejects.toThrow(`process ${process.pid} `);
});

test("of many who come for what a killed process had, exactly one gets it", async () => {
  const path = place("rush");
  await (await holderOf(path)).kill();
  const claims = await Promise.allSettled(Array.from({ length: 20 }, () => ReportDirectory.claim(path)));
  expect(claims.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test.skipIf(process.platform !== "linux")(
  "a later process of the same number is not taken for the one that claimed",
  async () => {
    const path = place("same-number");
    await using _ = await ReportDirectory.claim(path);
    await writeFile(join(path, "writing"), `${process.pid} 1 2026-12-01T00:00:00.000Z id\n`);
    await expect(ReportDirectory.claim(path)).resolves.toBeDefined();
  },
);

test("a claim file that holds something else blocks nobody", async () => {
  const path = place("odd");
  {
    await using _ = await ReportDirectory.claim(path);
    await writeFile(join(path, "writing"), "0 - now id\n-1 - now id\nnonsense\n12");
  }
  await using _ = await ReportDirectory.claim(path);
});

test("a path that is no directory is a usage failure that names it", async () => {
  await writeFile(place("file"), "");
  await expect(ReportDirectory.claim(place("file"))).rejects.toMatchObject({
    code: "usage",
    message: expect.stringContaining("file cannot be used"),
  });
});
