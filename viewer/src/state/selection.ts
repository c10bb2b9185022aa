/** Which row is selected, and what it is compared with. */

import { computed, signal } from "@preact/signals";
import type * as T from "../api/types.gen.ts";
import { go, route } from "./place.ts";
import { rowsOf } from "./rows.ts";
import { shown } from "./session.ts";

/** The first row, which is selected as long as nothing else is. */
export const firstRow = signal<{ readonly source: string; readonly tree: string | null; readonly id: string } | null>(null);

export const selected = computed<string | null>(() => {
  const { row, tree } = route.value;
  if (row !== null) return row;
  const first = firstRow.value;
  return first !== null && first.source === shown.value?.id && first.tree === tree ? first.id : null;
});

export function select(row: string, step: "push" | "replace" = "replace"): void {
  go({ row, message: null, source: shown.peek()?.id ?? null }, step);
}

/** What is known of the selected row without asking. */
export function selectedRow(): T.GraphRow | null {
  const id = selected.value;
  const source = shown.value;
  return id === null || source === null ? null : rowsOf(source.id, route.value.tree).byId(id);
}

/** Hold on to the selected row to compare others with it; held already, let go. */
export function toggleCompare(): void {
  const source = shown.peek();
  const row = selected.peek();
  if (route.peek().compare !== null) go({ compare: null, mode: "diff" });
  else if (source !== null && row !== null) go({ compare: `${source.id}:${row}` });
}

export function isPinned(source: string, row: string): boolean {
  return route.value.compare === `${source}:${row}`;
}
