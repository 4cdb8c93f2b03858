/** Progress on stderr: a bar that is drawn over on a terminal, a line for each step elsewhere. */
import type { Progress } from "../run.ts";

const BAR_CHARACTERS = 20;

export function progressOn(stream: NodeJS.WriteStream): Progress & { end(): void } {
  if (!stream.isTTY) {
    return {
      step: (text) => void stream.write(`${text}\n`),
      scenario: (number, of, title) => void stream.write(`[${number}/${of}] ${title}\n`),
      end: () => undefined,
    };
  }
  const draw = (text: string): void => {
    stream.write(`\r\u001b[2K${text.slice(0, Math.max(10, stream.columns - 1))}`);
  };
  return {
    step: draw,
    scenario: (number, of, title) => {
      const done = Math.round(((number - 1) / of) * BAR_CHARACTERS);
      draw(`${"█".repeat(done)}${"░".repeat(BAR_CHARACTERS - done)} ${number}/${of} ${title}`);
    },
    end: () => draw(""),
  };
}
