/** The run that is being watched: the page goes along with it from turn to turn, until the person goes elsewhere. */

import { computed, effect, signal } from "@preact/signals";
import type * as T from "../api/types.gen.ts";
import { runs } from "./live.ts";
import { go, route } from "./place.ts";

const watchedId = signal<string | null>(null);
let seenTurn: string | null = null;

export const watched = computed<T.Run | null>(() => (watchedId.value === null ? null : (runs.value.get(watchedId.value) ?? null)));

export function watchRun(id: string | null): void {
  seenTurn = null;
  watchedId.value = id;
}

export function isOver(run: T.Run): boolean {
  return run.state === "done" || run.state === "stopped" || run.state === "failed";
}

export function followRuns(): () => void {
  return effect(() => {
    const run = watched.value;
    const turn = run?.turn_id ?? run?.base_id ?? null;
    if (run === null || turn === null || turn === seenTurn) return;
    const at = route.peek();
    const isThere = seenTurn === null || (at.source === run.source_id && at.row === seenTurn);
    seenTurn = turn;
    if (isThere) go({ source: run.source_id, screen: "graph", row: turn, tree: null, compare: null, tab: "messages", message: null }, "replace");
  });
}
