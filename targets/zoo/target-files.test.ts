import { join } from "node:path";
import { expect, test } from "vitest";
import { zooTargets } from "../../harness/cli/targets.ts";
import type { TargetFile } from "../../harness/target.ts";
import { readTarget } from "../../harness/target-file/target-file.ts";

/** The files are not compiled: they stay where they are written. */
const TARGETS = join(import.meta.dirname, "..", "..", "..", "targets");
/** Their key records are where no probe reads them. */
const WITHOUT_RECORDS: readonly string[] = ["process-local-store"];

/** Their reconciler is their own: the defect is in it. */
const WITH_RECONCILER: readonly string[] = ["reconciler-guesses"];
/** Their defect shows without a processor and without failpoints, and their files name neither. */
const WITHOUT_FAULTS: readonly string[] = [
  "check-then-act",
  "claim-without-lease",
  "lease-shorter-than-work",
  "no-fingerprint",
  "original-headers-lost",
  "process-local-store",
  "rejection-overwrites-record",
  "scope-without-caller",
  "server-error-stored",
];
/** The clock of its hosts is told by the number of the replica. */
const WITH_REPLICA_ONLY: readonly string[] = ["lease-on-app-clock"];

/** What belongs to the defect. */
const OF_ITS_OWN: Readonly<Record<string, (file: TargetFile) => TargetFile>> = {
  "release-on-timeout": (file) => ({ ...file, processor: { honoursKeys: false } }),
  // It sweeps so often, and slow work is so slow, that every slow claim is swept.
  "cleanup-deletes-live-claim": (file) => ({
    ...file,
    start: { ...startOf(file), env: { ...startOf(file).env, CLEAN_UP_EVERY_MS: "20", RETENTION_MS: "12000" } },
    operations: Object.fromEntries(
      Object.entries(file.operations).map(([name, operation]) => [
        name,
        { ...operation, slow: { headers: { "lab-work-ms": "450" }, ms: 450 } },
      ]),
    ),
    contract: { ...file.contract, retentionMs: 12_000 },
  }),
};

const reference = withoutBenchParts(withoutRedeploy((await readTarget(join(TARGETS, "reference"))).file));
const zoo = await zooTargets();

test.each(zoo)("$id is the reference by its file, but for its name and its commands", async ({ id, path }) => {
  const { file } = await readTarget(path);
  const { [id]: own = (same: TargetFile) => same } = OF_ITS_OWN;
  expect(file).toEqual({ ...own(expectedOf(id)), name: id });
});

/** None of them is deployed as another version. */
function withoutRedeploy(file: TargetFile): TargetFile {
  const { redeploy: _, ...start } = startOf(file);
  return { ...file, start };
}

function expectedOf(id: string): TargetFile {
  const { records, ...rest } = ofKind(id);
  const start = { ...startOf(rest), command: `exec node ../../../dist/targets/zoo/${id}/server.js` };
  return { ...rest, ...(records && !WITHOUT_RECORDS.includes(id) ? { records } : {}), start };
}

function ofKind(id: string): TargetFile {
  if (WITHOUT_FAULTS.includes(id)) return withoutFaults([]);
  if (WITH_REPLICA_ONLY.includes(id)) return withoutFaults(["REPLICA"]);
  const folder = WITH_RECONCILER.includes(id) ? `zoo/${id}` : "reference";
  const beside = { reconciler: `exec node ../../../dist/targets/${folder}/reconciler.js` };
  return { ...reference, start: { ...startOf(reference), beside } };
}

/** The reference without what only the fault scenarios need, but for these settings. */
function withoutFaults(kept: readonly string[]): TargetFile {
  const { "create-charge": _, ...operations } = reference.operations;
  const start = startOf(reference);
  const settings = Object.entries(start.env).filter(([name]) => !FAULT_SETTINGS.includes(name) || kept.includes(name));
  return {
    ...reference,
    operations: Object.fromEntries(
      Object.entries(operations).map(([name, { failpoints: __, ...operation }]) => [name, operation]),
    ),
    start: { ...start, env: Object.fromEntries(settings), beside: {} },
  };
}

const FAULT_SETTINGS: readonly string[] = [
  "PROCESSOR_URL",
  "PROCESSOR_TIMEOUT_MS",
  "RECONCILE_EVERY_MS",
  "FAILPOINTS_URL",
  "REPLICA",
];

function startOf({ start }: Pick<TargetFile, "start">): NonNullable<TargetFile["start"]> {
  if (start === undefined) throw new Error("the reference is started by the lab");
  return start;
}

/** Nobody benches a broken target. */
function withoutBenchParts({ records, ...file }: TargetFile): TargetFile {
  if (records === undefined || !("sql" in records)) throw new Error("the records of the reference are read by SQL");
  const { fill: _, ...read } = records;
  const operations = Object.entries(file.operations).map(([name, { baseline: __, large: ___, ...operation }]) => [
    name,
    operation,
  ]);
  return { ...file, records: read, operations: Object.fromEntries(operations) };
}
