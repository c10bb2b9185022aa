/** The source inside an exported file: everything is in the page already. Asks nobody for anything. */

import { itemsOf, toolsOf, viewOf } from "./history.ts";
import { SourceError, type SearchWords, type Source } from "./source.ts";
import type * as T from "./types.gen.ts";

const WHOLE = 100_000;

export const EXPORT_ELEMENT = "weft-export";

/** What the page was exported with, or null if it came from a server. */
export function readExport(page: Document): T.ExportData | null {
  const text = page.getElementById(EXPORT_ELEMENT)?.textContent;
  if (text === undefined || text === null || text.trim() === "") return null;
  const data = JSON.parse(text) as T.ExportData;
  if (data.format !== "weft-export-2") {
    throw new SourceError("format", `this file is of a format that this page does not know: ${String(data.format)}`);
  }
  return data;
}

export function fileSource(data: T.ExportData): Source {
  const byId = new Map(data.graph.rows.map((row) => [row.id, row]));
  const view = (row: string): T.RowView => known(viewOf(data, row), "row", row);
  const comparedItems = data.compare === null ? [] : data.compare.diff.runs.flatMap((run) => run.items);
  return {
    abilities: { run: false, export: false, live: false, copy: false, charts: true },
    exported: { createdMs: data.created_ms, isRedacted: data.is_redacted, redactions: data.redactions },
    compared: otherSide(data),
    selected: data.selected_id,
    sources: async () => ({
      version: data.version,
      sources: [data.source],
      default_id: data.source.id,
      run_source_id: null,
      can_export: false,
    }),
    graph: async (_source, offset, limit) => ({ ...data.graph, offset, rows: data.graph.rows.slice(offset, offset + limit) }),
    place: async (_source, row) => {
      const found = known(byId.get(row), "row", row);
      return { id: found.id, row: found.row, total: data.graph.total };
    },
    threads: async () => ({ threads: trees(data), next: null }),
    row: async (_source, row) => view(row),
    diffItems: async (_source, row, start, count) => {
      const items = itemsOf(data, known(byId.get(row), "row", row).id);
      return { total: items.length, start, items: items.slice(start, start + count) };
    },
    tools: async (_source, row) => ({ tools: toolsOf(data, row) }),
    copy: async () => missing("copying needs the server: open the recording with `weft view`"),
    messages: async (_source, ids, max) => ({
      messages: ids.flatMap((id) => {
        const message = data.messages[id];
        return message === undefined ? [] : [cut(message, max)];
      }),
    }),
    content: async (_source, id, start, count, part) => {
      const message = known(data.messages[id], "message", id);
      const call = /^call-(\d+)$/.exec(part);
      const text = call === null ? message.content : (message.tool_calls[Number(call[1])]?.arguments ?? "");
      const end = start + count;
      return { text: text.slice(start, end), start, next: end < text.length ? end : null, size: text.length };
    },
    blobAddress: (_source, blob) => {
      const address = data.blobs[blob];
      return address !== undefined && /^data:image\/(png|jpeg|gif|webp|avif|bmp);base64,/.test(address) ? address : null;
    },
    search: async (_source, words) => found(data, words),
    stats: async () => data.stats,
    groups: async (_source, by, offset, limit) => {
      const groups = grouped(data, by);
      return { groups: groups.slice(offset, offset + limit), total: groups.length, offset };
    },
    misses: async (_source, offset, limit) => {
      const misses = Object.values(data.rows).flatMap((each) => each.header.cache_miss ?? []);
      misses.sort((a, b) => a.row - b.row);
      return { misses: misses.slice(offset, offset + limit), total: misses.length, offset };
    },
    compare: async (left, right) => {
      const kept = data.compare;
      const wanted = new Set([left, right]);
      const isKept = kept !== null && wanted.has(refOf(kept.left)) && wanted.has(refOf(kept.right));
      return isKept ? kept : missing("this file was exported with another comparison");
    },
    compareItems: async (_left, _right, start, count) => ({
      total: comparedItems.length,
      start,
      items: comparedItems.slice(start, start + count),
    }),
    runChoices: async () => missing("running needs the server: open the store with `weft view`"),
    startRun: async () => missing("running needs the server"),
    stopRun: async () => missing("running needs the server"),
    approve: async () => missing("running needs the server"),
    exportFile: async () => missing("this is an exported file already"),
    listen: () => () => undefined,
  };
}

function refOf(side: T.Side): string {
  return `${side.source_id}:${side.row.id}`;
}

/** What the selected row is compared with. */
function otherSide(data: T.ExportData): string | null {
  if (data.compare === null) return null;
  const { left, right } = data.compare;
  return refOf(left.row.id === data.selected_id ? right : left);
}

function known<Value>(value: Value | undefined, what: string, id: string): Value {
  return value ?? missing(`this file has no ${what} ${id}`);
}

function missing(message: string): never {
  throw new SourceError("not_exported", message, 404);
}

/** Folded cards take the beginning; unfolded ones all of it, as it is here anyway. */
function cut(message: T.Message, max: number): T.Message {
  if (max >= WHOLE) return message;
  const calls = message.tool_calls.map((call) =>
    call.arguments.length <= max ? call : { ...call, arguments: call.arguments.slice(0, max), is_cut: true },
  );
  return message.content.length <= max
    ? { ...message, tool_calls: calls }
    : { ...message, tool_calls: calls, content: message.content.slice(0, max), is_cut: true };
}

/** One entry a tree of the graph, newest first, as the server would list them. */
function trees(data: T.ExportData): T.ThreadEntry[] {
  const rootOf = new Map<string, string>();
  const made = new Map<string, T.ThreadEntry>();
  for (const row of data.graph.rows) {
    const root = (row.parent_id !== null && rootOf.get(row.parent_id)) || row.id;
    rootOf.set(row.id, root);
    const entry = made.get(root);
    made.set(root, {
      id: row.id,
      title: entry?.title ?? row.gist,
      rows: (entry?.rows ?? 0) + 1,
      size_bytes: null,
      models: [...new Set([...(entry?.models ?? []), row.model])].filter((model) => model !== ""),
      bookmarks: [...(entry?.bookmarks ?? []), ...row.bookmarks],
      timestamp_ms: row.timestamp_ms,
    });
  }
  return [...made.values()].sort((a, b) => b.timestamp_ms - a.timestamp_ms);
}

function found(data: T.ExportData, words: SearchWords): T.SearchPage {
  const wanted = words.q.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const hits: T.SearchHit[] = [];
  const seen = new Set<string>();
  for (const row of data.graph.rows) {
    const kept = data.rows[row.id];
    if (kept === undefined || !fits(row, words)) continue;
    // What it took over from the row before it was looked at there; what is in the file without that row, here.
    for (const id of [...(kept.before?.slice(0, kept.kept) ?? []), ...kept.more, ...kept.answered]) {
      const message = data.messages[id];
      if (seen.has(id) || message === undefined || (words.role !== "" && message.role !== words.role)) continue;
      if (words.tool !== "" && !message.tool_calls.some((call) => call.name === words.tool)) continue;
      const text = [message.content, ...message.tool_calls.map((call) => `${call.name} ${call.arguments}`)].join("\n");
      const low = text.toLowerCase();
      if (!wanted.every((word) => low.includes(word))) continue;
      seen.add(id);
      hits.push({ row_id: row.id, row: row.row, message_id: id, role: message.role, model: row.model, timestamp_ms: row.timestamp_ms, ...snippet(text, low, wanted) });
    }
  }
  return { hits, next: null, scanned: data.graph.rows.length, total: data.graph.rows.length };
}

function fits(row: T.GraphRow, words: SearchWords): boolean {
  return (
    (words.model === "" || row.model === words.model) &&
    (!words.error || row.state === "failed") &&
    (words.since === null || row.timestamp_ms >= words.since) &&
    (words.until === null || row.timestamp_ms <= words.until)
  );
}

function snippet(text: string, low: string, wanted: readonly string[]): Pick<T.SearchHit, "snippet" | "marks"> {
  const first = Math.max(0, (wanted[0] === undefined ? 0 : low.indexOf(wanted[0])) - 60);
  const shown = text.slice(first, first + 200).replace(/\s/g, " ");
  const marks: [number, number][] = [];
  for (const word of wanted) {
    for (let at = low.indexOf(word, first); at !== -1 && at + word.length <= first + 200; at = low.indexOf(word, at + word.length)) {
      marks.push([at - first, at - first + word.length]);
    }
  }
  return { snippet: shown, marks: marks.sort((a, b) => a[0] - b[0]) };
}

function grouped(data: T.ExportData, by: T.StatsBy): T.StatGroup[] {
  const made = new Map<string, T.StatGroup>();
  const rootOf = new Map<string, string>();
  for (const row of data.graph.rows) {
    const root = (row.parent_id !== null && rootOf.get(row.parent_id)) || row.id;
    rootOf.set(row.id, root);
    const usage = data.rows[row.id]?.header.usage ?? null;
    const iso = new Date(row.timestamp_ms || 0).toISOString().slice(0, 10);
    const key = { request: row.id, thread: root, day: iso, model: row.model }[by];
    const old = made.get(key);
    const label = old?.label ?? { request: row.gist, thread: row.gist, day: iso, model: row.model || "unknown" }[by];
    made.set(key, { key, label, totals: plus(old?.totals, row, usage) });
  }
  return [...made.values()];
}

function plus(before: T.Totals | undefined, row: T.GraphRow, usage: T.Usage | null): T.Totals {
  const cost = usage?.cost_usd ?? null;
  return {
    requests: (before?.requests ?? 0) + 1,
    failed: (before?.failed ?? 0) + (row.state === "failed" ? 1 : 0),
    duration_ms: (before?.duration_ms ?? 0) + row.duration_ms,
    input_tokens: (before?.input_tokens ?? 0) + (usage?.input_tokens ?? 0),
    cached_tokens: (before?.cached_tokens ?? 0) + (usage?.cached_tokens ?? 0),
    cache_write_tokens: (before?.cache_write_tokens ?? 0) + (usage?.cache_write_tokens ?? 0),
    output_tokens: (before?.output_tokens ?? 0) + (usage?.output_tokens ?? 0),
    reasoning_tokens: (before?.reasoning_tokens ?? 0) + (usage?.reasoning_tokens ?? 0),
    cost_usd: cost === null ? (before?.cost_usd ?? null) : (before?.cost_usd ?? 0) + cost,
    with_usage: (before?.with_usage ?? 0) + (usage === null ? 0 : 1),
    with_cost: (before?.with_cost ?? 0) + (cost === null ? 0 : 1),
  };
}
