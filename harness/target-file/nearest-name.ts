/** The known name that a mistyped one was most likely meant to be. */

/** Undefined when none is near enough to be worth a question. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({ candidate, distance: distance(plain(name), plain(candidate)) }))
    .filter(({ candidate, distance: found }) => found <= allowed(name) || startsLike(name, candidate));
  return ranked.sort((one, other) => one.distance - other.distance)[0]?.candidate;
}

/** Case and the marks between words are what is most often remembered wrongly. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, "");
}

function allowed(name: string): number {
  return Math.max(1, Math.floor(name.length / 3));
}

function startsLike(name: string, candidate: string): boolean {
  return name.length >= 3 && (plain(candidate).startsWith(plain(name)) || plain(name).startsWith(plain(candidate)));
}

/** How many letters must be put in, left out, exchanged or swapped with their neighbour (optimal string alignment). */
function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= other.length; column += 1) {
      const isEqual = one[row - 1] === other[column - 1];
      const isSwapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isEqual ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Infinity,
      );
    }
  }
  return at(one.length, other.length);
}
