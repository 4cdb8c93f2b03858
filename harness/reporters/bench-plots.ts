/** The plots of a bench as SVG: latency by percentile, a panel for each target, and differences with intervals. */
import { scaleLinear, scaleLog } from "d3-scale";
import { line } from "d3-shape";
import type { BenchReport, BenchTarget, ClassReport } from "../bench/bench-report.ts";
import { measuredIn, millis, signed } from "./bench-words.ts";
import { at, svg, text, WIDTH } from "./svg.ts";

const LEFT = 70;
const RIGHT = 110;
const PANEL = 300;
const HEAD = 34;
const FOOT = 36;
const ROW = 22;
const COLORS: Readonly<Record<ClassReport["class"], string>> = {
  baseline: "#666666",
  again: "#aaaaaa",
  "first-use": "#1f6fb4",
  replay: "#2a9d4a",
  conflict: "#d9822b",
  mismatch: "#b03060",
};
/** Where the axis of percentiles is marked. */
const MARKED = [0.01, 0.5, 0.9, 0.99, 0.999, 0.9999];

export function percentilesPlot({ targets }: BenchReport): string {
  const panels = targets.map((target, index) => panel(target, index * PANEL));
  return svg(PANEL * targets.length, panels.join("\n"), "Latency by percentile");
}

/** Each nine takes the same width: the tail is what a bench is about. */
function nines(share: number): number {
  return -Math.log10(1 - share);
}

function panel({ target, classes }: BenchTarget, top: number): string {
  const drawn = measuredIn(classes).filter(({ curve }) => curve.length > 0);
  const micros = drawn.flatMap(({ curve }) => curve.map(([, value]) => value));
  const shares = drawn.flatMap(({ curve }) => curve.map(([share]) => share));
  const title = text(LEFT, top + 20, `${target}: latency by percentile, ms (log)`, "start", "bold");
  if (micros.length === 0) return `${title}\n${text(LEFT, top + 60, "nothing was measured", "start")}`;
  const x = scaleLinear([0, nines(Math.max(0.9, ...shares))], [LEFT, WIDTH - RIGHT]);
  const y = scaleLog([Math.min(...micros) * 0.9, Math.max(...micros) * 1.1], [top + PANEL - FOOT, top + HEAD]);
  const path = line<[number, number]>(
    ([share]) => x(nines(share)),
    ([, value]) => y(value),
  );
  const ticks = y.ticks(5);
  const sparse = ticks.filter((_, index) => index % Math.ceil(ticks.length / 6) === 0);
  return [
    title,
    ...sparse.map(
      (tick) =>
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(tick))}" y2="${at(y(tick))}" stroke="#e4e4e4"/>${text(LEFT - 6, y(tick) + 4, millis(tick), "end")}`,
    ),
    ...MARKED.filter((share) => nines(share) <= (x.domain()[1] ?? 0)).map((share) =>
      text(x(nines(share)), top + PANEL - FOOT + 16, `p${Number((share * 100).toFixed(2))}`, "middle"),
    ),
    ...drawn.map(
      (one) =>
        `<path d="${path(one.curve) ?? ""}" fill="none" stroke="${COLORS[one.class]}" stroke-width="1.8"><title>${one.class}</title></path>`,
    ),
    ...drawn.map((one, index) => {
      const height = top + HEAD + 12 + index * 18;
      return `<line x1="${WIDTH - RIGHT + 12}" x2="${WIDTH - RIGHT + 30}" y1="${height - 4}" y2="${height - 4}" stroke="${COLORS[one.class]}" stroke-width="3"/>${text(WIDTH - RIGHT + 36, height, one.class, "start")}`;
    }),
  ].join("\n");
}

interface Row {
  readonly name: string;
  readonly color: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Intervals that do not touch the line at zero are differences; those that do may be none. */
export function differencesPlot({ targets }: BenchReport): string {
  const rows = targets.flatMap((target) => rowsOf(target, targets.length > 1));
  const height = HEAD + Math.max(1, rows.length) * ROW + FOOT;
  const title = text(12, 20, "Difference in ms, with its 95 % interval", "start", "bold");
  if (rows.length === 0)
    return svg(height, `${title}\n${text(12, 50, "nothing was compared", "start")}`, "Differences");
  const left = 250;
  const bounds = rows.flatMap(({ low, high }) => [low, high, 0]);
  const x = scaleLinear([Math.min(...bounds), Math.max(...bounds)], [left, WIDTH - 170]).nice();
  const bottom = height - FOOT;
  const marks = x.ticks(6).map((tick) => {
    const isZero = tick === 0;
    return `<line x1="${at(x(tick))}" x2="${at(x(tick))}" y1="${HEAD}" y2="${bottom}" stroke="${isZero ? "#333333" : "#e4e4e4"}"/>${text(x(tick), bottom + 16, isZero ? "0" : signed(tick), "middle")}`;
  });
  const drawn = rows.map(({ name, color, value, low, high }, index) => {
    const y = HEAD + index * ROW + ROW / 2;
    return [
      text(left - 12, y + 4, name, "end"),
      `<line x1="${at(x(low))}" x2="${at(x(high))}" y1="${y}" y2="${y}" stroke="${color}" stroke-width="3"/>`,
      `<circle cx="${at(x(value))}" cy="${y}" r="4.5" fill="${color}"/>`,
      text(WIDTH - 160, y + 4, `${signed(value)} [${signed(low)}, ${signed(high)}]`, "start"),
    ].join("");
  });
  return svg(height, [title, ...marks, ...drawn].join("\n"), "Differences");
}

function rowsOf({ target, classes }: BenchTarget, isOneOfMany: boolean): readonly Row[] {
  return measuredIn(classes).flatMap((one) =>
    one.figures.flatMap(({ quantile, difference }) =>
      difference === null || quantile === "p99.9"
        ? []
        : [
            {
              name: `${isOneOfMany ? `${target} ` : ""}${one.class} ${quantile}`,
              color: COLORS[one.class],
              ...difference,
            },
          ],
    ),
  );
}
