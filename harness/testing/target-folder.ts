/** Writes target files for tests: an order API as small as it can be, with whatever parts exchanged. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const SERVER = join(import.meta.dirname, "misbehaving-server.js");

/** A command that runs the misbehaving server as a single process of the shell's. */
export function misbehaving(behaviour: string, after: number | "start" = 0): string {
  return `exec ${process.execPath} ${SERVER} ${behaviour} ${after}`;
}

/** The folder, with a target.yaml whose parts are exchanged: `start` is merged, others are replaced. */
export async function writeTargetFolder(
  folder: string,
  { start = {}, ...others }: { readonly start?: object } & Readonly<Record<string, unknown>>,
): Promise<string> {
  const request = { method: "POST", path: "/orders", body: { amount: 1, reference: "${operation}" } };
  const file = {
    name: "tested",
    start: { command: misbehaving("none"), env: { PORT: "${port}" }, replicas: 1, ready: "GET /health", ...start },
    callers: { alice: { headers: { authorization: "Bearer alice-token" } } },
    operations: { create: { request, success: [201], outcome: ["/amount"] } },
    effects: { http: "GET /ledger", rows: "/rows", columns: { operation: "/operation" } },
    ...others,
  };
  await mkdir(folder, { recursive: true });
  // JSON is YAML.
  await writeFile(join(folder, "target.yaml"), JSON.stringify(file, null, 2));
  return folder;
}
