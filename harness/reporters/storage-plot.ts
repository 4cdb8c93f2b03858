/** Storage over time as SVG: table, indexes and bloat upon each other, and the naive estimate as a line beside them. */
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import type { BenchReport, BenchTarget } from "../bench/bench-report.ts";
import { bytesText, volumeText } from "./storage-words.ts";
import { at, svg, text, WIDTH } from "./svg.ts";

type Projection = NonNullable<BenchTarget["storage"]>["projections"][number];
type Moment = Projection["overTime"][number];

const LEFT = 80;
const RIGHT = 150;
const PANEL = 260;
const HEAD = 44;
const FOOT = 40;
const NAIVE = "#b03060";
/** From below. */
const LAYERS = [
  { name: "table", color: "#1f6fb4", bytes: ({ tableBytes }: Moment) => tableBytes },
  { name: "indexes", color: "#7fb2dd", bytes: ({ indexBytes }: Moment) => indexBytes },
  { name: "bloat", color: "#d9822b", bytes: ({ bloatBytes }: Moment) => bloatBytes },
];

export function storagePlot({ targets, volume }: BenchReport): string {
  const panels = targets.flatMap(({ target, storage }) =>
    (storage?.projections ?? []).map((projection) => ({ target, projection })),
  );
  const title = text(12, 20, `Storage over time: ${volumeText(volume)}`, "start", "bold");
  if (panels.length === 0) {
    const notes = targets.map(({ target, storageNote }, index) =>
      text(12, 50 + index * 20, `${target}: ${storageNote ?? "nothing was measured"}`, "start"),
    );
    return svg(60 + targets.length * 20, [title, ...notes].join("\n"), "Storage over time");
  }
  const drawn = panels.map(({ target, projection }, index) => panel(target, projection, HEAD + index * PANEL));
  return svg(HEAD + PANEL * panels.length, [title, ...drawn].join("\n"), "Storage over time");
}

function panel(target: string, { answer, overTime, plateauBytes, naiveBytes }: Projection, top: number): string {
  const days = overTime.at(-1)?.day ?? 1;
  const bottom = top + PANEL - FOOT;
  const x = scaleLinear([0, days], [LEFT, WIDTH - RIGHT]);
  const y = scaleLinear([0, Math.max(plateauBytes, naiveBytes, 1)], [bottom, top + HEAD / 2]).nice();
  const naive = line<Moment>(
    ({ day }) => x(day),
    (moment) => y(moment.naiveBytes),
  );
  return [
    text(LEFT, top + 10, `${target}, ${answer} answers: ${bytesText(plateauBytes)} in all`, "start", "bold"),
    ...y
      .ticks(4)
      .map(
        (tick) =>
          `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(tick))}" y2="${at(y(tick))}" stroke="#e4e4e4"/>${text(LEFT - 6, y(tick) + 4, bytesText(tick), "end")}`,
      ),
    ...x.ticks(6).map((tick) => text(x(tick), bottom + 16, String(tick), "middle")),
    text((LEFT + WIDTH - RIGHT) / 2, bottom + 32, "days", "middle"),
    ...LAYERS.map(({ name, color }, index) => {
      const layer = area<Moment>()
        .x(({ day }) => x(day))
        .y0((moment) => y(upTo(moment, index)))
        .y1((moment) => y(upTo(moment, index + 1)));
      return `<path d="${layer(overTime) ?? ""}" fill="${color}"><title>${name}</title></path>`;
    }),
    `<path d="${naive(overTime) ?? ""}" fill="none" stroke="${NAIVE}" stroke-width="1.8" stroke-dasharray="6 4"><title>records × body</title></path>`,
    ...legend(top),
  ].join("\n");
}

/** The bytes of so many layers from below. */
function upTo(moment: Moment, layers: number): number {
  return LAYERS.slice(0, layers).reduce((sum, { bytes }) => sum + bytes(moment), 0);
}

function legend(top: number): string[] {
  const entries = [{ name: "naive: records × body", color: NAIVE }, ...LAYERS.toReversed()];
  return entries.map(({ name, color }, index) => {
    const y = top + HEAD + index * 18;
    const place = WIDTH - RIGHT + 12;
    return `<line x1="${place}" x2="${place + 18}" y1="${y - 4}" y2="${y - 4}" stroke="${color}" stroke-width="4"/>${text(place + 24, y, name, "start")}`;
  });
}
