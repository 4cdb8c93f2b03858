/**
 * From the bytes of one record to what all of them take at a volume and a retention.
 *
 *     records = volume a day × days of retention              those that are there at once
 *     live    = records × bytes of a record                   (row + TOAST) + index
 *     bloat   = live × (kept × dead + max(0, regrowth − 1))    room that no record is in
 *     plateau = live + bloat
 *     naive   = records × bytes of an answer's body           the usual estimate
 *
 * `kept`: what a cleanup leaves taken until a vacuum; `dead`: the share of dead rows at which the database
 * vacuums by itself; `regrowth`: how much a table that was vacuumed grows beyond itself when it is filled again.
 * Until the first records are over nothing is dead; from then on a day's volume dies each day, until the bloat is
 * complete.
 */
import type { Cycle, Moment, Projection, RecordBytes, Volume } from "./storage-report.ts";

/** Shown beyond the first retention, so that the plateau is seen to be one. */
const SHOWN_RETENTIONS = 1.5;

export function projectionOf(size: RecordBytes, cycle: Cycle | null, volume: Pick<Volume, "perDay" | "retentionDays">) {
  const { perDay, retentionDays } = volume;
  const at = (day: number): Moment => storedAt(size, cycle, volume, day);
  const bloatDays = retentionDays * bloatShare(cycle);
  const end = Math.max(SHOWN_RETENTIONS * retentionDays, retentionDays + bloatDays);
  const days = [...new Set([0, retentionDays, retentionDays + bloatDays, end])];
  const { day: _, naiveBytes, ...stored } = at(end);
  return {
    answer: size.answer,
    records: perDay * retentionDays,
    perDayBytes: perDay * (size.row + size.toast + size.index),
    ...stored,
    plateauBytes: stored.tableBytes + stored.indexBytes + stored.bloatBytes,
    naiveBytes,
    overTime: days.map(at),
  } satisfies Projection;
}

/** What is stored so many days after the first record. */
export function storedAt(
  { row, toast, index, body }: RecordBytes,
  cycle: Cycle | null,
  { perDay, retentionDays }: Pick<Volume, "perDay" | "retentionDays">,
  day: number,
): Moment {
  const records = perDay * Math.min(day, retentionDays);
  const died = Math.max(0, day - retentionDays) / retentionDays;
  return {
    day,
    tableBytes: records * (row + toast),
    indexBytes: records * index,
    bloatBytes: records * (row + toast + index) * Math.min(bloatShare(cycle), died),
    naiveBytes: records * body,
  };
}

/** Of the live bytes. What was not measured is left out, and the report says so. */
function bloatShare(cycle: Cycle | null): number {
  if (cycle === null) return 0;
  return cycle.keptShare * cycle.deadShare + Math.max(0, cycle.regrowth - 1);
}
