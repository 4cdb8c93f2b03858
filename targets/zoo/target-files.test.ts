import { join } from "node:path";
import { expect, test } from "vitest";
import { zooTargets } from "../../harness/cli/targets.ts";
import type { TargetFile } from "../../harness/target.ts";
import { readTarget } from "../../harness/target-file/target-file.ts";

/** The files are not compiled: they stay where they are written. */
const TARGETS = join(import.meta.dirname, "..", "..", "..", "targets");
/** Their key records are where no probe reads them. */
const WITHOUT_RECORDS: readonly string[] = ["process-local-store"];

const reference = (await readTarget(join(TARGETS, "reference"))).file;
const zoo = await zooTargets();

test.each(zoo)("$id is the reference by its file, but for its name and its command", async ({ id, path }) => {
  const { file } = await readTarget(path);
  expect(file).toEqual({ ...expectedOf(id), name: id });
});

function expectedOf(id: string): TargetFile {
  const { records, ...rest } = reference;
  const start = { ...startOf(reference), command: `exec node ../../../dist/targets/zoo/${id}/server.js` };
  return { ...rest, ...(records && !WITHOUT_RECORDS.includes(id) ? { records } : {}), start };
}

function startOf({ start }: TargetFile): NonNullable<TargetFile["start"]> {
  if (start === undefined) throw new Error("the reference is started by the lab");
  return start;
}
