/** The targets that come with the package, found by their folders. */
import { access, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "./package.ts";

export interface ShippedTarget {
  readonly id: string;
  readonly kind: "reference" | "claims" | "zoo" | "third-party";
  readonly path: string;
}

export interface ZooTarget extends ShippedTarget {
  /** The invariants that it must violate, and no others. */
  readonly declared: readonly string[];
  /** Scenarios that are enough to see all of them; empty: nobody said. */
  readonly seenIn: readonly string[];
}

const ROOT = join(packageRoot, "targets");

export async function shippedTargets(): Promise<readonly ShippedTarget[]> {
  const claims = await foldersIn("claims");
  const zoo = await foldersIn("zoo");
  const thirdParty = await foldersIn("third-party");
  return [
    { id: "reference", kind: "reference", path: join(ROOT, "reference", "target.yaml") },
    ...claims.map((id): ShippedTarget => ({ id, kind: "claims", path: join(ROOT, "claims", id, "target.yaml") })),
    ...zoo.map((id): ShippedTarget => ({ id, kind: "zoo", path: join(ROOT, "zoo", id, "target.yaml") })),
    ...thirdParty.map(
      (id): ShippedTarget => ({ id, kind: "third-party", path: join(ROOT, "third-party", id, "target.yaml") }),
    ),
  ];
}

export async function zooTargets(): Promise<readonly ZooTarget[]> {
  const zoo = (await shippedTargets()).filter(({ kind }) => kind === "zoo");
  return Promise.all(
    zoo.map(async (target) => {
      const text = await readFile(join(ROOT, "zoo", target.id, "violates.json"), "utf8");
      const { violates, seenIn = [] } = JSON.parse(text) as { violates: string[]; seenIn?: string[] };
      return { ...target, declared: violates, seenIn };
    }),
  );
}

async function foldersIn(kind: string): Promise<readonly string[]> {
  const entries = await readdir(join(ROOT, kind), { withFileTypes: true }).catch(() => []);
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const hasFile = await Promise.all(folders.map((name) => isThere(join(ROOT, kind, name, "target.yaml"))));
  return folders.filter((_, index) => hasFile[index]);
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
