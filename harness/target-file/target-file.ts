/**
 * Reads target.yaml. Every mistake is reported with its line and column, what was found and what was
 * expected, and all of them at once, so that a file is put right in one go.
 */
import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { extendContract } from "../contract.ts";
import { contracts } from "../contracts/list.ts";
import { Failure, messageOf } from "../fail.ts";
import { type Target, targetSchema } from "../target.ts";
import { type Complaint, complaintsOf, lineOf } from "./complaint.ts";
import { type Form, formOf } from "./form.ts";
import { brokenRules } from "./target-rules.ts";
import { type Misprint, YamlSource } from "./yaml-source.ts";

const FILE_BYTES_MAX = 1_048_576;
/** After so many the first ones are the ones to put right. */
const COMPLAINTS_LISTED_MAX = 50;

/** Throws a `usage` failure that lists every mistake. A directory stands for the target.yaml inside it. */
export async function readTarget(path: string): Promise<Target> {
  const file = await fileAt(path);
  const source = new YamlSource(await textIn(file));
  const misprints = [...source.misprints];
  if (source.value === undefined) throw failureOf(file, misprints);
  const target = check(source.value, dirname(resolve(file)));
  if ("complaints" in target) {
    for (const complaint of target.complaints) {
      misprints.push({ ...source.positionOf(complaint.path, complaint.isName), problem: lineOf(complaint) });
    }
  }
  if (misprints.length > 0 || "complaints" in target) throw failureOf(file, misprints);
  return target;
}

/** The same from an object: for `--url`, and for targets described in TypeScript. */
export function parseTarget(
  input: unknown,
  directory: string,
  failureOf: (complaints: readonly { readonly message: string }[]) => Failure,
): Target {
  const target = check(input, directory);
  if ("complaints" in target) throw failureOf(target.complaints.map((complaint) => ({ message: lineOf(complaint) })));
  return target;
}

function check(input: unknown, directory: string): Target | { readonly complaints: readonly Complaint[] } {
  const parsed = targetSchema.safeParse(input);
  const complaints = [
    ...(parsed.success ? [] : complaintsOf(parsed.error.issues, targetForm(), input)),
    ...brokenRules(input),
  ];
  if (!parsed.success || complaints.length > 0) return { complaints: unrepeated(complaints) };
  const file = parsed.data;
  const profile = contracts.find(({ id }) => id === (file.contract.extends ?? "strict"));
  if (profile === undefined) throw new Error(`there is no contract ${file.contract.extends}`);
  return { file, directory, contract: extendContract(profile, file.contract) };
}

let form: Form | undefined;

/** Made when the first mistake is found: most files have none. */
function targetForm(): Form {
  form ??= formOf(targetSchema);
  return form;
}

/** A rule may find what the schema has found already; the schema's words stand. */
function unrepeated(complaints: readonly Complaint[]): readonly Complaint[] {
  const seen = new Set<string>();
  return complaints.filter(({ path, problem }) => {
    const mistake = JSON.stringify([path.map(String), problem]);
    return seen.size < seen.add(mistake).size;
  });
}

async function fileAt(path: string): Promise<string> {
  try {
    const found = await stat(path);
    const file = found.isDirectory() ? join(path, "target.yaml") : path;
    const { size, isFile } = await stat(file).then((facts) => ({ size: facts.size, isFile: facts.isFile() }));
    if (!isFile) throw new Failure("usage", `${file}: found something that is no file, expected a target file`);
    if (size > FILE_BYTES_MAX) {
      throw new Failure("usage", `${file}: found ${size} bytes, expected a target file of at most ${FILE_BYTES_MAX}`);
    }
    return file;
  } catch (error) {
    throw error instanceof Failure ? error : cannotBeRead(path, error);
  }
}

async function textIn(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw cannotBeRead(file, error);
  });
  const isBinary = bytes.includes(0);
  try {
    if (!isBinary) return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Said below, with what to do.
  }
  throw new Failure("usage", `${file}: found bytes that are no UTF-8 text, expected a target file in YAML`);
}

function cannotBeRead(path: string, error: unknown): Failure {
  const code = (error as NodeJS.ErrnoException).code;
  const why =
    code === "ENOENT" ? "found no such file, expected a target file, or a folder with a target.yaml" : messageOf(error);
  return new Failure("usage", `${path}: the target file cannot be read (${why})`, { cause: error });
}

/** Mistakes in what aliases repeat stand once in the file, and are told once. */
function failureOf(file: string, misprints: readonly Misprint[]): Failure {
  const lines = new Map<string, string>();
  const sorted = [...misprints].sort((one, other) => one.line - other.line || one.column - other.column);
  for (const { line, column, problem } of sorted) {
    const place = `${line}:${column}`;
    const mistake = `${place} ${problem.slice(problem.indexOf(": found ") + 1)}`;
    if (!lines.has(mistake)) lines.set(mistake, `  ${file}:${place}: ${problem}`);
  }
  const listed = [...lines.values()].slice(0, COMPLAINTS_LISTED_MAX);
  if (lines.size > listed.length) listed.push(`  and ${lines.size - listed.length} more`);
  return new Failure("usage", `${file}: ${lines.size} mistake(s) in the target file\n${listed.join("\n")}`);
}
