/** What key records take on disk, in words and rows, the same in the terminal and in Markdown. */
import type { BenchReport, BenchTarget } from "../bench/bench-report.ts";
import { countOf, NOTHING } from "./bench-words.ts";

type Storage = NonNullable<BenchTarget["storage"]>;

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const STEP = 1024;

export function bytesText(bytes: number): string {
  const power = bytes < STEP ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log(bytes) / Math.log(STEP)));
  const value = bytes / STEP ** power;
  return `${power === 0 ? countOf(Math.round(value)) : value.toFixed(value < 10 ? 2 : 1)} ${UNITS[power]}`;
}

export function recordText({ tables, sizes }: Storage): string {
  const measured = sizes.map(({ answer, records }) => `${countOf(records)} with ${answer} answers`).join(", ");
  return `what one key record takes on disk, by the growth of ${tables.join(", ")} (${measured})`;
}

export const SIZE_HEAD = ["answer", "its body", "row", "TOAST", "indexes", "record", "record / body"];

export function sizeRows({ sizes }: Storage): string[][] {
  return sizes.map(({ answer, body, row, toast, index }) => {
    const record = row + toast + index;
    return [answer, ...[body, row, toast, index, record].map(bytesText), timesText(record, body)];
  });
}

export function volumeText({ perDay, retentionDays, isAssumed }: BenchReport["volume"]): string {
  const words = `${countOf(Math.round(perDay))} a day, kept for ${daysText(retentionDays)}: ${countOf(Math.round(perDay * retentionDays))} records`;
  return isAssumed ? `${words} (say what yours are with --volume and --retention)` : words;
}

export const PROJECTION_HEAD = ["answer", "a day", "table", "indexes", "bloat", "in all", "naive", "in all / naive"];

export function projectionRows({ projections }: Storage): string[][] {
  return projections.map(({ answer, perDayBytes, tableBytes, indexBytes, bloatBytes, plateauBytes, naiveBytes }) => [
    answer,
    ...[perDayBytes, tableBytes, indexBytes, bloatBytes, plateauBytes, naiveBytes].map(bytesText),
    timesText(plateauBytes, naiveBytes),
  ]);
}

/** What there is to say beside the figures. */
export function storageRemarks({ tables, parts, largeLeft, cycle, cycleLeft }: Storage): string[] {
  return [
    "naive: records times the bytes of an answer's body",
    ...(parts <= tables.length
      ? []
      : [`the records lay in ${parts} partitions, so few in each that index pages which are not full count for much`]),
    ...(largeLeft === null ? [] : [`large answers were not measured: ${largeLeft}`]),
    ...(cycleLeft === null ? [] : [`${cycleLeft}; bloat is left out`]),
    ...(cycle === null
      ? []
      : [
          `after the cleanup ${share(cycle.keptShare)} of the bytes stayed taken until a vacuum, which comes when ${share(cycle.deadShare)} of the rows are dead; filled again after it, the tables took ×${cycle.regrowth.toFixed(2)}`,
        ]),
  ];
}

export function daysText(days: number): string {
  if (days < 1) return `${Number((days * 24).toFixed(2))} h`;
  return `${Number(days.toFixed(2))} day${days === 1 ? "" : "s"}`;
}

function timesText(one: number, other: number): string {
  return other > 0 ? `×${(one / other).toFixed(2)}` : NOTHING;
}

function share(part: number): string {
  return `${Math.round(part * 100)} %`;
}
