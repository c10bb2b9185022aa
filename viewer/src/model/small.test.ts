/** The small ones: pairs, edits, answers, curves, geometry, chart. */

import { expect, test } from "vitest";
import type { DiffItem, DiffOp, MessageHead } from "../api/types.gen.ts";
import { appended, roleOf } from "./answers.ts";
import { steps, timeSteps } from "./chart.ts";
import { shifted, straight } from "./curves.ts";
import { editsOf, withOccurrences } from "./edits.ts";
import { colourOf, squeeze, windowOf, xOf, yOf } from "./geometry.ts";
import { paired } from "./pairs.ts";

function head(id: string): MessageHead {
  return { id, role: "user", gist: id, size: 1, lines: 1, calls: [], tool_use_id: null, is_error: null, blobs: [] };
}

function items(text: string): DiffItem[] {
  const op: Record<string, DiffOp> = { "=": "unchanged", "+": "added", "-": "deleted" };
  return text.split(" ").map((each) => ({ op: op[each[0] as string] as DiffOp, message: head(each.slice(1)) }));
}

test("side by side, what was deleted stands beside what was added in its place", () => {
  const made = paired(items("=a =b -c -d +e =f +g"));
  const shown = made.map((pair) => (pair.kind === "same" ? pair.items.map((item) => item.message.id).join("") : `${pair.left?.message.id ?? "."}|${pair.right?.message.id ?? "."}`));
  expect(shown).toEqual(["ab", "c|e", "d|.", "f", ".|g"]);
  expect(paired([])).toEqual([]);
});

test("an edit names which of two equal messages is meant", () => {
  const messages = withOccurrences(["a", "b", "a"].map(head));
  const changes = new Map<number, string | null>([
    [2, "other"],
    [1, null],
    [9, "no such"],
  ]);
  expect(editsOf(messages, changes)).toEqual([
    { message_id: "b", text: "", drop: true },
    { message_id: "a", occurrence: 1, text: "other" },
  ]);
});

test("pieces of an answer join what they continue", () => {
  const pieces = [
    { kind: "thinking", name: null, text: "hm" },
    { kind: "text", name: null, text: "Hel" },
    { kind: "text", name: null, text: "lo" },
    { kind: "tool_use", name: "dig", text: "" },
    { kind: "tool_use", name: null, text: '{"n":' },
    { kind: "tool_use", name: "tide", text: "{}" },
  ] as const;
  const answer = pieces.reduce((sum, piece) => appended(sum, piece), [] as ReturnType<typeof appended>);
  expect(answer.map((each) => [each.kind, each.name, each.text])).toEqual([
    ["thinking", null, "hm"],
    ["text", null, "Hello"],
    ["tool_use", "dig", '{"n":'],
    ["tool_use", "tide", "{}"],
  ]);
  expect(answer.map((each) => roleOf(each.kind))).toEqual(["thinking", "assistant", "tool_use", "tool_use"]);
});

test("nodes are where section 9 puts them", () => {
  expect([xOf(0), xOf(2), yOf(0), yOf(3)]).toEqual([14, 54, 24, 168]);
  expect([colourOf(-1), colourOf(0), colourOf(9)]).toEqual(["var(--branch-none)", "var(--branch-0)", "var(--branch-1)"]);
});

test("a graph is only narrowed when it does not fit", () => {
  expect([squeeze(88, 160), squeeze(320, 160), squeeze(0, 160)]).toEqual([1, 0.5, 1]);
});

test("curves keep their shape wherever the window is", () => {
  expect(shifted("M 34 4800168 C 34 4800192 54 4800192 54 4800216", 4800000, 0.5)).toBe("M 17 168 C 17 192 27 192 27 216");
  expect(straight(34, 0, 5_000_000, 4_800_000, 480, 1)).toBe("M 34 -50 V 530");
  expect(straight(34, 0, 100, 4_800_000, 480, 1)).toBeNull();
});

test("a list draws what is seen and a little around it", () => {
  expect(windowOf(0, 480, 48, 100_000)).toEqual([0, 18]);
  expect(windowOf(48_000, 480, 48, 100_000)).toEqual([992, 1018]);
  expect(windowOf(9e9, 480, 48, 10)).toEqual([9, 187_499_992]);
  expect(windowOf(0, 480, 48, 0)).toEqual([0, 0]);
});

test("durations are counted in seconds, minutes and hours", () => {
  expect(timeSteps(45_000)).toEqual([0, 20_000, 40_000, 60_000]);
  expect(timeSteps(9_000_000)).toEqual([0, 3_600_000, 7_200_000, 10_800_000]);
  expect(timeSteps(40)).toEqual([0, 20, 40]);
  for (const largest of [1, 999, 1001, 59_000, 61_000, 1e7, 1e9, 1e12]) expect(timeSteps(largest).at(-1)).toBeGreaterThanOrEqual(largest);
});

test("the side of a chart counts in round steps to just above the largest", () => {
  expect(steps(100)).toEqual([0, 50, 100]);
  expect(steps(7)).toEqual([0, 2.5, 5, 7.5]);
  expect(steps(0.0123)).toEqual([0, 0.005, 0.01, 0.015]);
  expect(steps(0)).toEqual([0, 1]);
  for (const largest of [1, 3, 12, 99, 101, 12_345, 1e9]) expect(steps(largest).at(-1)).toBeGreaterThanOrEqual(largest);
});
