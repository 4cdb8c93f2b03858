/** What every plot is made of: the picture itself and words in it. */

export const WIDTH = 760;

export function svg(height: number, content: string, title: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12" role="img" aria-label="${title}">
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${content}
</svg>
`;
}

export function text(
  x: number,
  y: number,
  words: string,
  anchor: "start" | "middle" | "end",
  weight = "normal",
): string {
  const safe = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" font-weight="${weight}" fill="#333333">${safe}</text>`;
}

/** A place, to a tenth of a pixel. */
export function at(pixels: number): string {
  return pixels.toFixed(1);
}
