import { describe, expect, it } from "vitest";
import { beforeOf, itemsOf, sentBy, toolsOf, viewOf } from "./history.ts";
import type { DiffOp, ExportData, ExportRow, GraphRow, MessageHead, Tool } from "./types.gen.ts";

function row(against: string | null, kept: number, more: string[], answered: string[], rest: Partial<ExportRow> = {}): ExportRow {
  const header = { endpoint: "", status: null, stop_reason: null, error: null, usage: null, cache_miss: null, options: "{}", turn_id: null };
  return { header, against_id: against, before: null, kept, more, answered, runs: [], children: [], tools: [], tools_before: null, ...rest };
}

function head(id: string): MessageHead {
  return { id, role: "user", gist: id, size: 1, lines: 1, calls: [], tool_use_id: null, is_error: null, blobs: [] };
}

function exported(rows: Record<string, ExportRow>): ExportData {
  const names = Object.values(rows).flatMap((each) => [...(each.before ?? []), ...each.more, ...each.answered]);
  const heads = Object.fromEntries(names.map((id) => [id, head(id)]));
  const drawn = Object.keys(rows).map((id) => ({ id }) as GraphRow);
  const tools = Object.fromEntries(["t0", "t1", "t2"].map((id) => [id, { id, name: id, change: "unchanged" } as Tool]));
  return { rows, heads, tools, source: { id: "s" }, graph: { version: 1, rows: drawn } } as unknown as ExportData;
}

// a: 1 -> 2;  b goes on from a: 1 2 3 -> 4;  c takes the 3 back: 1 2 5;  d is a thread turn, and has no answer of its own
const ROWS = {
  a: row(null, 0, ["1"], ["2"]),
  b: row("a", 2, ["3"], ["4"]),
  c: row("b", 2, ["5"], ["6"]),
  d: row("c", 4, ["7"], []),
  e: row("gone", 1, ["9"], [], { before: ["1", "8"] }),
};

describe("a history is put together from what each row adds", () => {
  it.each([
    ["a", ["1"], []],
    ["b", ["1", "2", "3"], ["1", "2"]],
    ["c", ["1", "2", "5"], ["1", "2", "3", "4"]],
    ["d", ["1", "2", "5", "6", "7"], ["1", "2", "5", "6"]],
    ["e", ["1", "9"], ["1", "8"]],
    ["none", [], []],
  ])("%s", (id, sent, before) => {
    expect(sentBy(ROWS, id)).toEqual(sent);
    expect(beforeOf(ROWS, id)).toEqual(before);
  });

  it("of a hundred thousand rows, at once", () => {
    const rows: Record<string, ExportRow> = {};
    for (let at = 0; at < 100_000; at += 1) rows[`r${at}`] = row(at === 0 ? null : `r${at - 1}`, at, [`m${at}`], []);
    expect(sentBy(rows, "r99999").length).toBe(100_000);
  });
});

describe("a diff follows from both sides", () => {
  const runs: [DiffOp, number][] = [["unchanged", 2], ["deleted", 2], ["added", 1]];
  const data = exported({ ...ROWS, c: { ...ROWS.c, runs } });

  it("names what was taken back, and what came instead", () => {
    expect(itemsOf(data, "c").map((item) => `${item.op} ${item.message.id}`)).toEqual([
      "unchanged 1",
      "unchanged 2",
      "deleted 3",
      "deleted 4",
      "added 5",
    ]);
  });

  it("comes in runs, the unchanged ones folded", () => {
    const diff = viewOf(data, "c")?.diff;
    expect([diff?.unchanged, diff?.added, diff?.deleted]).toEqual([2, 1, 2]);
    expect(diff?.runs.map((run) => [run.op, run.start, run.count, run.items.length])).toEqual([
      ["unchanged", 0, 2, 0],
      ["deleted", 2, 2, 2],
      ["added", 4, 1, 1],
    ]);
  });

  it("of a row that is not there is none", () => {
    expect(viewOf(data, "none")).toBeUndefined();
    expect(itemsOf(data, "none")).toEqual([]);
  });
});

it("tools say what became of them", () => {
  const data = exported({
    a: row(null, 0, [], [], { tools: ["t0", "t1"] }),
    b: row("a", 0, [], [], { tools: ["t1", "t2"] }),
    c: row("gone", 0, [], [], { tools: ["t1"], tools_before: ["t0"] }),
  });
  const told = (id: string): string[] => toolsOf(data, id).map((tool) => `${tool.id} ${tool.change}`);
  expect(told("a")).toEqual(["t0 unchanged", "t1 unchanged"]);
  expect(told("b")).toEqual(["t1 unchanged", "t2 added", "t0 removed"]);
  expect(told("c")).toEqual(["t1 added", "t0 removed"]);
});
