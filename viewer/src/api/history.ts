/**
 * What each row of an exported file said. Histories are long and shared, so a file has them as what each row adds to the
 * one before it; here they are put together again, one row at a time.
 */

import type { DiffItem, DiffOp, DiffRun, ExportData, ExportRow, MessageHead, RowView, Tool } from "./types.gen.ts";

const SHOWN = 200; // items of a run that come with a row; the page asks for more

type Rows = Readonly<Record<string, ExportRow>>;

/** The messages that a row sent. */
export function sentBy(rows: Rows, id: string): string[] {
  return walked(rows, id, false);
}

/** The messages that a row is compared with: what its parent sent and was answered. */
export function beforeOf(rows: Rows, id: string): string[] {
  const row = rows[id];
  if (row === undefined || row.against_id === null) return [];
  return row.before ?? walked(rows, row.against_id, true);
}

/** Goes up from row to row for as much as is still missing; no step copies what was found before. */
function walked(rows: Rows, id: string, withAnswer: boolean): string[] {
  const pieces: (readonly string[])[] = [];
  let need = Infinity;
  let at: string | null = id;
  for (let row = rows[id]; row !== undefined && need > 0; row = at === null ? undefined : rows[at]) {
    const own: readonly string[] = at !== id || withAnswer ? [...row.more, ...row.answered] : row.more;
    if (need > row.kept) pieces.push(need - row.kept < own.length ? own.slice(0, need - row.kept) : own);
    need = Math.min(need, row.kept);
    if (row.before !== null) {
      pieces.push(row.before.slice(0, need));
      break;
    }
    at = row.against_id;
  }
  return pieces.reverse().flat();
}

/** The messages of a diff, each with what became of it. What is unchanged or added was sent; what is deleted was before. */
export function itemsOf(data: ExportData, id: string): DiffItem[] {
  const row = data.rows[id];
  if (row === undefined) return [];
  const sent = sentBy(data.rows, id);
  const before = row.runs.some(([op]) => op === "deleted") ? beforeOf(data.rows, id) : [];
  const items: DiffItem[] = [];
  let [now, old] = [0, 0];
  for (const [op, count] of row.runs) {
    for (let number = 0; number < count; number += 1) {
      const name = op === "deleted" ? before[old + number] : sent[now + number];
      const message = name === undefined ? undefined : data.heads[name];
      if (message !== undefined) items.push({ op, message });
    }
    if (op !== "deleted") now += count;
    if (op !== "added") old += count;
  }
  return items;
}

/** A row as the server would give it. */
export function viewOf(data: ExportData, id: string): RowView | undefined {
  const row = data.rows[id];
  const drawn = data.graph.rows.find((each) => each.id === id);
  if (row === undefined || drawn === undefined) return undefined;
  const runs = runsOf(row, itemsOf(data, id));
  const tools = toolsOf(data, id);
  return {
    source_id: data.source.id,
    version: data.graph.version,
    row: drawn,
    header: row.header,
    against_id: row.against_id,
    diff: { unchanged: counted(runs, "unchanged"), added: counted(runs, "added"), deleted: counted(runs, "deleted"), runs },
    response: headsOf(data, row.answered),
    children: row.children,
    tools: row.tools.length,
    tools_added: tools.filter((tool) => tool.change === "added").length,
    tools_removed: tools.filter((tool) => tool.change === "removed").length,
    can_fork: false,
  };
}

/** The tools of a row, then those that only its parent had, each with its change. */
export function toolsOf(data: ExportData, id: string): Tool[] {
  const row = data.rows[id];
  if (row === undefined) return [];
  const before = row.against_id === null ? row.tools : (row.tools_before ?? data.rows[row.against_id]?.tools ?? []);
  const [old, now] = [new Set(before), new Set(row.tools)];
  const named = (ids: readonly string[], change: (id: string) => Tool["change"]): Tool[] =>
    ids.flatMap((each) => {
      const tool = data.tools[each];
      return tool === undefined ? [] : [{ ...tool, change: change(each) }];
    });
  return [
    ...named(row.tools, (each) => (old.has(each) ? "unchanged" : "added")),
    ...named(before.filter((each) => !now.has(each)), () => "removed"),
  ];
}

/** Messages without their bodies. */
export function headsOf(data: ExportData, ids: readonly string[]): MessageHead[] {
  return ids.flatMap((each) => data.heads[each] ?? []);
}

function runsOf(row: ExportRow, items: readonly DiffItem[]): DiffRun[] {
  let start = 0;
  return row.runs.map(([op, count]) => {
    const shown = op === "unchanged" ? [] : items.slice(start, start + Math.min(count, SHOWN));
    const run = { op, start, count, items: shown };
    start += count;
    return run;
  });
}

function counted(runs: readonly DiffRun[], op: DiffOp): number {
  return runs.reduce((sum, run) => sum + (run.op === op ? run.count : 0), 0);
}
