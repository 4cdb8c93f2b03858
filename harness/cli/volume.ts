/** `--volume 2000000/day --retention 7d`: what a bench projects storage to, and how people write it. */
import { InvalidArgumentError } from "commander";

const DAY_SECONDS = 86_400;
/** Longest name first; a unit is found by any of its names. */
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  second: 1,
  min: 60,
  minute: 60,
  h: 3_600,
  hour: 3_600,
  d: DAY_SECONDS,
  day: DAY_SECONDS,
  w: 7 * DAY_SECONDS,
  week: 7 * DAY_SECONDS,
};
const MULTIPLES: Readonly<Record<string, number>> = { "": 1, k: 1_000, m: 1_000_000 };
/** More than anybody has keys for; beyond it, a digit too many was typed. */
const PER_DAY_MAX = 1e12;
const RETENTION_DAYS_MAX = 3_650;

const VOLUME_FORMS = "a number and a time, such as 2000000/day, 2M/day, 50k/h or 25/s, of at most 1e12 a day";
const RETENTION_FORMS = `a number and a unit, such as 7d, 24h, 90min or 2w, of at most ${RETENTION_DAYS_MAX} days`;

/** Operations a day. */
export function volumeOf(text: string): number {
  const [, digits = "", multiple = "", name = ""] =
    /^(\d[\d_,]*(?:\.\d+)?)([km]?)\s*(?:\/|per )\s*([a-z]+)$/i.exec(text.trim()) ?? [];
  const seconds = secondsIn(name);
  const perDay = (numberIn(digits) * (MULTIPLES[multiple.toLowerCase()] ?? 1) * DAY_SECONDS) / seconds;
  if (perDay > 0 && perDay <= PER_DAY_MAX) return perDay;
  throw unexpected(text, VOLUME_FORMS);
}

/** Days. */
export function retentionOf(text: string): number {
  const [, digits = "", name = ""] = /^(\d[\d_,]*(?:\.\d+)?)\s*([a-z]+)$/i.exec(text.trim()) ?? [];
  const days = (numberIn(digits) * secondsIn(name)) / DAY_SECONDS;
  if (days > 0 && days <= RETENTION_DAYS_MAX) return days;
  throw unexpected(text, RETENTION_FORMS);
}

/** Not a number where there is none, so that no comparison holds. */
function numberIn(digits: string): number {
  return digits === "" ? Number.NaN : Number(digits.replace(/[_,]/g, ""));
}

function secondsIn(name: string): number {
  const unit = name.toLowerCase();
  return UNIT_SECONDS[unit] ?? UNIT_SECONDS[unit.replace(/s$/, "")] ?? Number.NaN;
}

function unexpected(text: string, forms: string): InvalidArgumentError {
  return new InvalidArgumentError(`Found ${text.trim() === "" ? "nothing" : text}, expected ${forms}.`);
}
