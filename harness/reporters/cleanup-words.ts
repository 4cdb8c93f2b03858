/** How requests feel the removal of expired records, in rows, the same in the terminal and in Markdown. */
import type { BenchTarget } from "../bench/bench-report.ts";
import { countOf, millis, NOTHING } from "./bench-words.ts";

type Cleanup = NonNullable<BenchTarget["cleanup"]>;
type Tail = Cleanup["before"];

export const CLEANUP_HEAD = ["first use", "samples", "over", "p50", "p99", "p99.9", "max"];

export function cleanupRows(targets: readonly BenchTarget[]): string[][] {
  return targets.flatMap(({ target, cleanup }) =>
    cleanup === null
      ? []
      : [tailRow(`${target}, before`, cleanup.before), tailRow(`${target}, while cleaned up`, cleanup.during)],
  );
}

export function cleanupText({ expired, removed, tookMs, rate, others }: Cleanup): string {
  const gone =
    tookMs === null
      ? `${countOf(removed)} of them were gone when the wait for the rest was over`
      : `all were gone after ${seconds(tookMs)}`;
  const aside = others === 0 ? "" : `; ${countOf(others)} request(s) were answered otherwise or not at all`;
  return `${countOf(expired)} records expired at one moment under ${rate} first uses a second: ${gone}${aside}`;
}

function tailRow(name: string, { samples, ms, p50, p99, "p99.9": p999, max }: Tail): string[] {
  const micros = [p50, p99, p999, max].map((value) => (value === null ? NOTHING : millis(value)));
  return [name, countOf(samples), seconds(ms), ...micros];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
