import { expect, test } from "vitest";
import { ago, bytes, count, day, duration, isSlow, moment, money, percent, plural } from "./times.ts";

test.each([
  [0, "0ms"],
  [812, "812ms"],
  [999.4, "999ms"],
  [1400, "1.4s"],
  [59_949, "59.9s"],
  [59_960, "1m 00s"],
  [125_000, "2m 05s"],
  [3_780_000, "1h 03m"],
  [-1, "–"],
  [Number.NaN, "–"],
])("a duration of %d ms reads %s", (ms, said) => {
  expect(duration(ms)).toBe(said);
});

test("only above five seconds is slow [trace-and-cook 11]", () => {
  expect([5000, 5001].map(isSlow)).toEqual([false, true]);
});

test.each([
  [999, "999 B"],
  [1000, "1.0 kB"],
  [999_600, "1.0 MB"],
  [5_000_000, "5.0 MB"],
  [52_428_800, "52 MB"],
])("%d bytes read %s", (size, said) => {
  expect(bytes(size)).toBe(said);
});

test.each([
  [7, "7"],
  [1234, "1,234"],
  [12_345, "12.3k"],
  [999_960, "1M"],
  [4_500_000, "4.5M"],
  [-20_000, "-20k"],
])("%d reads %s in a narrow place", (value, said) => {
  expect(count(value)).toBe(said);
});

test.each([
  [0, "$0"],
  [0.00004, "$0.00004"],
  [0.0414, "$0.0414"],
  [0.02, "$0.02"],
  [1.5, "$1.50"],
  [1234.4, "$1,234"],
])("%d dollars read %s", (value, said) => {
  expect(money(value)).toBe(said);
});

test("a share is never rounded to all or nothing", () => {
  expect([percent(0, 10), percent(1, 1000), percent(999, 1000), percent(5, 10), percent(1, 0)]).toEqual(["0%", "<1%", ">99%", "50%", "–"]);
});

test("a moment without a time says so", () => {
  expect(moment(0)).toBe("no time");
  expect(moment(new Date(2026, 2, 1, 14, 5, 9).getTime())).toBe("2026-03-01 14:05:09");
});

test("how long ago is told in the coarsest unit that fits", () => {
  const now = new Date(2026, 2, 9, 12).getTime();
  const told = [1, 300, 7200, 2 * 86_400, 8 * 86_400].map((seconds) => ago(now - seconds * 1000, now));
  expect(told).toEqual(["just now", "5 min ago", "2 h ago", "2 d ago", day(now - 8 * 86_400_000)]);
});

test("one is one and none is many", () => {
  expect([plural(1, "turn"), plural(0, "turn"), plural(2, "child", "children")]).toEqual(["1 turn", "0 turns", "2 children"]);
});
