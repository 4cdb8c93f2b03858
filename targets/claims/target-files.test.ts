import { join } from "node:path";
import { expect, test } from "vitest";
import { shippedTargets } from "../../harness/cli/targets.ts";
import { readTarget } from "../../harness/target-file/target-file.ts";

/** The files are not compiled: they stay where they are written. */
const TARGETS = join(import.meta.dirname, "..", "..", "..", "targets");

const reference = (await readTarget(join(TARGETS, "reference"))).file;
const claims = (await shippedTargets()).filter(({ kind }) => kind === "claims");

test("there are some", () => {
  expect(claims.map(({ id }) => id)).toEqual(["insert-and-catch", "select-for-update-first", "serializable-and-retry"]);
});

test.each(claims)("$id is the reference by its file, but for its name and its commands", async ({ id, path }) => {
  const { file } = await readTarget(path);
  const start = {
    ...reference.start,
    command: `exec node ../../../dist/targets/claims/${id}/server.js`,
    beside: { reconciler: "exec node ../../../dist/targets/reference/reconciler.js" },
  };
  expect(file).toEqual({ ...reference, name: id, start });
});

test("the cleanup without a bound is the reference by its file, but for its name and its batches", async () => {
  const { file } = await readTarget(join(TARGETS, "reference", "unbounded.yaml"));
  const start = { ...reference.start, env: { ...reference.start?.env, CLEAN_UP_BATCH_ROWS: "0" } };
  expect(file).toEqual({ ...reference, name: "reference-unbounded", start });
});

test("the way with one transaction is the reference by its file, but for its way, its connections and a phase", async () => {
  const { file } = await readTarget(join(TARGETS, "reference", "one-transaction.yaml"));
  const { "create-order": order, "create-refund": refund, ...others } = reference.operations;
  const start = { ...reference.start, env: { ...reference.start?.env, WAY: "one-transaction", POOL_SIZE: "25" } };
  const untaken = (operation: typeof order) => ({
    ...operation,
    failpoints: {
      ...operation?.failpoints,
      phases: operation?.failpoints?.phases.filter((phase) => phase !== "taking-over"),
    },
  });
  const operations = { "create-order": untaken(order), "create-refund": untaken(refund), ...others };
  expect(file).toEqual({ ...reference, name: "reference-one-transaction", start, operations });
});
