import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { linesOf, textOf } from "./lines.ts";

const directory = mkdtempSync(join(tmpdir(), "idemproof-lines-"));
afterAll(() => rmSync(directory, { recursive: true }));

function linesIn(content: string): readonly string[] {
  const path = join(directory, "file");
  writeFileSync(path, content);
  return Array.from(linesOf(path), textOf);
}

test("lines are split at \\n alone, and an end that is missing cuts nothing off", () => {
  expect(linesIn("")).toEqual([]);
  expect(linesIn("a\n\nb\n")).toEqual(["a", "", "b"]);
  expect(linesIn("a\r\nb\u2028c\rd")).toEqual(["a\r", "b\u2028c\rd"]);
});

test("lines longer than what is read at a time, and characters of several bytes at its edge, stay whole", () => {
  for (let length = 65_530; length < 65_540; length += 1) {
    const lines = ["x".repeat(length), "ü€𝄞", "y".repeat(300_000), "", "ü".repeat(70_000), "z"];
    expect(linesIn(lines.join("\n"))).toEqual(lines);
    expect(linesIn(`${lines.join("\n")}\n`)).toEqual(lines);
  }
});
