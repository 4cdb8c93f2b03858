/**
 * Where a run has its target from, a file or the command line alone: as it is recorded, as arguments that name
 * it again, and back to the target when a run is replayed.
 */
import { join } from "node:path";
import { Failure } from "../fail.ts";
import { type DirectSource, digestOf, type Recipe, type Source } from "../recipe.ts";
import { redacted, secretsOf } from "../secrets.ts";
import type { Target } from "../target.ts";
import { readTarget } from "../target-file/target-file.ts";
import { type DirectOptions, directTarget } from "./direct-target.ts";
import { packageRoot } from "./package.ts";

/** What a replay has to be given again, since a report keeps no secrets. */
export type GivenAgain = Pick<DirectOptions, "url" | "body" | "header">;

export function targetNamed(path: string | undefined, options: DirectOptions): Promise<Target> {
  checkTogether(path, options);
  if (options.url !== undefined) return directTarget(options);
  return readTarget(path ?? join(packageRoot, "targets", "reference"));
}

const WITH_URL = ["request", "body", "header", "success", "outcome", "contract"] as const;

/** What would be passed over in silence is refused. */
function checkTogether(path: string | undefined, options: DirectOptions): void {
  if (options.url !== undefined) {
    if (path === undefined) return;
    throw new Failure(
      "usage",
      `found both the target file ${path} and --url, expected one of them: a file names a running target by \`urls\``,
    );
  }
  const alone = WITH_URL.filter((name) => options[name] !== undefined).map((name) => `--${name}`);
  if (alone.length === 0) return;
  throw new Failure(
    "usage",
    `found ${alone.join(", ")} without --url, which ${alone.length === 1 ? "it goes" : "they go"} with: of a target file, all of this is written in the file`,
  );
}

export function sourceOf({ file }: Target, path: string | undefined, options: DirectOptions): Source {
  if (options.url === undefined) return { kind: "file", path: path ?? null };
  const secrets = secretsOf(file);
  const isPublic = (text: string): boolean => redacted(text, secrets) === text;
  const { url, request = "", body = null, success = null, outcome = [], contract = null } = options;
  const keepsUrl = url.every(isPublic);
  const keepsBody = body === null || isPublic(body);
  return {
    kind: "direct",
    urls: keepsUrl ? [...url] : [],
    request,
    body: keepsBody ? body : null,
    success: success && [...success],
    outcome: [...outcome],
    contract,
    headers: Object.values(file.callers).flatMap(({ headers }) => Object.keys(headers)),
    withheld: [...(keepsUrl ? [] : (["url"] as const)), ...(keepsBody ? [] : (["body"] as const))],
  };
}

/** The arguments that name the target again; what is secret is left to the reader. */
export function sourceArguments(source: Source): readonly string[] {
  if (source.kind === "file") return source.path === null ? [] : [source.path];
  const { urls, request, body, success, outcome, contract, withheld } = source;
  return [
    ...(withheld.includes("url") ? ["--url", "…"] : urls.flatMap((url) => ["--url", url])),
    ...["--request", request],
    ...(withheld.includes("body") ? ["--body", "…"] : body === null ? [] : ["--body", body]),
    ...(success === null ? [] : ["--success", success.join(",")]),
    ...(outcome.length === 0 ? [] : ["--outcome", outcome.join(",")]),
    ...(contract === null ? [] : ["--contract", contract]),
    ...headerArguments(source),
  ];
}

export function headerArguments({ headers }: DirectSource): readonly string[] {
  return headers.flatMap((name) => ["--header", `${name}: …`]);
}

/** The target of a run, checked to be the one that its plans were made for. */
export async function targetAgain({ source, digest }: Recipe, again: GivenAgain): Promise<Target> {
  const target =
    source.kind === "file" ? await targetNamed(fileAgain(source, again), {}) : await directAgain(source, again);
  if (digestOf(target) === digest) return target;
  const what = source.kind === "file" ? `the target file ${source.path ?? "of the reference"}` : "what --url describes";
  throw new Failure(
    "usage",
    `${what} has changed since the run: its plans would be others. Put it back as it was, or play the scenario against it as it is now by the line that the report gives as "again"`,
  );
}

function fileAgain({ path }: Extract<Source, { kind: "file" }>, again: GivenAgain): string | undefined {
  const [given] = Object.keys(again).filter((name) => again[name as keyof GivenAgain] !== undefined);
  if (given === undefined) return path ?? undefined;
  throw new Failure("usage", `--${given}: the run had its target from a file, where all of it is read again`);
}

function directAgain(source: DirectSource, { url, body, header = [] }: GivenAgain): Promise<Target> {
  const given = { url, body };
  const missing = source.withheld.filter((name) => given[name] === undefined);
  const names = header.map((line) => line.slice(0, Math.max(0, line.indexOf(":"))).toLowerCase());
  const missingHeaders = source.headers.filter((name) => !names.includes(name.toLowerCase()));
  if (missing.length > 0 || missingHeaders.length > 0) {
    const options = [
      ...missing.map((name) => `--${name} '…'`),
      ...missingHeaders.map((name) => `--header '${name}: …'`),
    ];
    throw new Failure("usage", `a report keeps no secrets: give again, as in the run, ${options.join(" ")}`);
  }
  const bodyAgain = body ?? source.body;
  return directTarget({
    url: url ?? source.urls,
    request: source.request,
    outcome: source.outcome,
    header,
    ...(bodyAgain !== null && { body: bodyAgain }),
    ...(source.success && { success: source.success }),
    ...(source.contract !== null && { contract: source.contract }),
  });
}
