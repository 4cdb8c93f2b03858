/** Reads a report.json of an earlier run, and finds one violation in it. */
import { readFile, stat } from "node:fs/promises";
import { z } from "zod";
import { Failure, messageOf } from "../fail.ts";
import { type Report, type ReportedViolation, reportSchema } from "../report.ts";

/** A report lists a few violations of each invariant; more than this is no report. */
const REPORT_BYTES_MAX = 64 * 1024 * 1024;
const FORMAT = reportSchema.shape.format.value;

export async function readReport(path: string): Promise<Report> {
  const value = jsonIn(path, await textOf(path));
  const format = z.looseObject({ format: z.number(), verdict: z.string() }).safeParse(value);
  if (!format.success) throw noReport(path, "found JSON that is none");
  if (format.data.format !== FORMAT) {
    throw new Failure(
      "usage",
      `${path}: found a report of format ${format.data.format}, expected format ${FORMAT}: replay it with the version of idemproof that wrote it`,
    );
  }
  const report = reportSchema.safeParse(value);
  if (report.success) return report.data;
  const [issue] = report.error.issues;
  throw new Failure(
    "usage",
    `${path}: found a report of another version of idemproof (${issue?.path.join(".")}: ${issue?.message}): replay it with the version that wrote it`,
  );
}

/** Throws a `usage` failure that lists the ids there are. */
export function violationIn({ invariants }: Report, path: string, id: string): ReportedViolation {
  const violations = invariants.flatMap((invariant) => invariant.violations);
  const found = violations.find((violation) => violation.id === id);
  if (found !== undefined) return found;
  if (violations.length === 0) {
    throw new Failure("usage", `${path}: found no violation, expected a report of a run that failed`);
  }
  const known = violations.map((violation) => `${violation.id}  in ${violation.scenario}`);
  throw new Failure("usage", `${path}: found no violation ${id}, expected one of\n  ${known.join("\n  ")}`);
}

async function textOf(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= REPORT_BYTES_MAX) return await readFile(path, "utf8");
  } catch (error) {
    throw new Failure("usage", `${path}: the report cannot be read (${messageOf(error)})`, { cause: error });
  }
  throw noReport(path, `found more than ${REPORT_BYTES_MAX} bytes`);
}

function jsonIn(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw noReport(path, "found something that is no JSON", error);
  }
}

function noReport(path: string, found: string, cause?: unknown): Failure {
  return new Failure("usage", `${path}: ${found}, expected a report.json as a run writes it`, { cause });
}
