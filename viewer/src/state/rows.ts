/** The rows of the graph that are known: pages of them, asked for as they come into sight and forgotten when far away. */

import { signal } from "@preact/signals";
import type { SourceError } from "../api/source.ts";
import type * as T from "../api/types.gen.ts";
import { asFailure, source } from "./session.ts";

export const PAGE = 200;
const MOST_PAGES = 30;

export class Rows {
  readonly key: string;
  readonly sourceId: string;
  readonly treeId: string | null;
  /** Grows with every answer; whoever draws rows reads it. */
  readonly change = signal(0);
  readonly failure = signal<SourceError | null>(null);
  total = 0;
  width = 0;
  isKnown = false;
  private readonly pages = new Map<number, T.Graph>();
  private readonly asked = new Map<number, Promise<void>>();
  private readonly stale = new Set<number>();
  private readonly whereIs = new Map<string, number>();

  constructor(sourceId: string, treeId: string | null) {
    this.sourceId = sourceId;
    this.treeId = treeId;
    this.key = `${sourceId}/${treeId ?? ""}`;
  }

  at(row: number): T.GraphRow | null {
    const page = this.pages.get(Math.floor(row / PAGE));
    return page?.rows[row - page.offset] ?? null;
  }

  /** A row by its id, if it is among those that are known. */
  byId(id: string): T.GraphRow | null {
    const row = this.whereIs.get(id);
    const found = row === undefined ? null : this.at(row);
    return found?.id === id ? found : null;
  }

  /** The lines through these rows, each once. */
  lines(first: number, last: number): T.GraphLine[] {
    const made = new Map<number, T.GraphLine>();
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(first, last - 1) / PAGE); page += 1) {
      for (const line of this.pages.get(page)?.lines ?? []) made.set(line.branch, line);
    }
    return [...made.values()];
  }

  /** Ask for what is missing of these rows. */
  async need(first: number, last: number): Promise<void> {
    const waiting: Promise<void>[] = [];
    const end = this.isKnown ? Math.min(last, this.total) : last;
    for (let page = Math.floor(first / PAGE); page * PAGE < Math.max(end, 1); page += 1) {
      const isMissing = !this.pages.has(page) || this.stale.has(page);
      const asking = this.asked.get(page) ?? (isMissing ? this.ask(page) : undefined);
      if (asking !== undefined) waiting.push(asking);
    }
    await Promise.all(waiting);
  }

  /** Where a row is, asking if it is not known. Null if there is no such row. */
  async find(id: string): Promise<T.GraphRow | null> {
    const known = this.byId(id);
    if (known !== null) return known;
    try {
      const place = await source().place(this.sourceId, id, this.treeId);
      await this.need(place.row, place.row + 1);
      return this.byId(place.id) ?? this.at(place.row);
    } catch {
      return null;
    }
  }

  /** Rows from `row` on are new or have moved. What is shown stays until the answer is here. */
  changed(row: number, total: number): void {
    for (const page of this.pages.keys()) {
      if ((page + 1) * PAGE > row) this.stale.add(page);
    }
    this.total = total;
    this.change.value += 1;
  }

  private ask(page: number): Promise<void> {
    this.stale.delete(page);
    const asking = this.answered(page);
    this.asked.set(page, asking);
    return asking;
  }

  private async answered(page: number): Promise<void> {
    try {
      const graph = await source().graph(this.sourceId, page * PAGE, PAGE, this.treeId);
      this.keep(page, graph);
      this.failure.value = null;
    } catch (error) {
      this.failure.value = asFailure(error);
    } finally {
      this.asked.delete(page);
    }
  }

  private keep(page: number, graph: T.Graph): void {
    this.pages.delete(page);
    this.pages.set(page, graph);
    graph.rows.forEach((row, index) => this.whereIs.set(row.id, graph.offset + index));
    this.total = graph.total;
    this.width = Math.max(this.isKnown ? this.width : 0, graph.width);
    this.isKnown = true;
    if (this.pages.size > MOST_PAGES) this.forget(this.pages.keys().next().value as number);
    this.change.value += 1;
  }

  private forget(page: number): void {
    for (const row of this.pages.get(page)?.rows ?? []) this.whereIs.delete(row.id);
    this.pages.delete(page);
  }
}

const kept = new Map<string, Rows>();

/** The rows of a source, or of one of its trees; the last few are kept, so that going back is at once. */
export function rowsOf(sourceId: string, treeId: string | null): Rows {
  const made = kept.get(`${sourceId}/${treeId ?? ""}`) ?? new Rows(sourceId, treeId);
  kept.delete(made.key);
  kept.set(made.key, made);
  if (kept.size > 4) kept.delete(kept.keys().next().value as string);
  return made;
}

/** Tell all rows of a source that they have changed; rows of one tree are counted otherwise, so all of those have. */
export function rowsChanged(sourceId: string, fromRow: number, total: number): void {
  for (const rows of kept.values()) {
    if (rows.sourceId !== sourceId) continue;
    if (rows.treeId === null) rows.changed(fromRow, total);
    else rows.changed(0, rows.total);
  }
}

export function forgetRows(): void {
  kept.clear();
}
