import { expect, test } from "vitest";
import { beginning, isLong, linesUpTo, pieces } from "./folding.ts";

const lines = (many: number): string => Array.from({ length: many }, (_, at) => `line ${at}`).join("\n");

test("text over 8 lines or 500 characters is long [trace-and-cook 11]", () => {
  expect([lines(8), lines(9), "x".repeat(500), "x".repeat(501)].map((text) => isLong(text))).toEqual([false, true, false, true]);
});

test("folded, the first eight lines are shown", () => {
  expect(beginning(lines(20))).toBe(lines(8));
});

test("folded, a long line is cut, never through a character", () => {
  expect(beginning("x".repeat(900))).toBe("x".repeat(500));
  expect(beginning(`${"x".repeat(499)}😀${"y".repeat(50)}`)).toBe("x".repeat(499));
});

test("counting lines stops early", () => {
  expect(linesUpTo("a\n".repeat(1_000_000), 9)).toBe(9);
});

test("pieces put together are the whole text, and none is much longer than asked", () => {
  for (const text of [lines(5000), "x".repeat(70_001), `${"😀".repeat(30_000)}`, ""]) {
    const cut = pieces(text, 20_000);
    expect(cut.join("")).toBe(text);
    expect(Math.max(...cut.map((piece) => piece.length))).toBeLessThanOrEqual(20_001);
    expect(cut.every((piece) => !/[\ud800-\udbff]$/.test(piece))).toBe(true);
  }
});
