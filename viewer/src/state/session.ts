/** The one source of this page, what it can show, and what of it is shown. */

import { computed, signal } from "@preact/signals";
import { SourceError, type Source } from "../api/source.ts";
import type * as T from "../api/types.gen.ts";
import { route } from "./place.ts";

/** Set once, before anything is drawn. */
let current: Source | null = null;

export function setSource(source: Source): void {
  current = source;
}

export function source(): Source {
  if (current === null) throw new Error("the page has no source yet");
  return current;
}

export const sourceList = signal<T.SourceList | null>(null);
export const startFailure = signal<SourceError | null>(null);

/** What is looked at: what the address says, else the server's choice, else the first there is. */
export const shown = computed<T.Source | null>(() => {
  const list = sourceList.value;
  if (list === null) return null;
  const wanted = route.value.source;
  return (
    (wanted !== null ? list.sources.find((each) => each.id === wanted) : undefined) ??
    list.sources.find((each) => each.id === list.default_id) ??
    list.sources[0] ??
    null
  );
});

export function sourceNamed(id: string): T.Source | null {
  return sourceList.value?.sources.find((each) => each.id === id) ?? null;
}

/** A turn in threads, a request in recordings. */
export const rowWord = computed(() => (shown.value?.kind === "threads" ? "turn" : "request"));

export async function start(): Promise<void> {
  try {
    sourceList.value = await source().sources();
    startFailure.value = null;
  } catch (error) {
    startFailure.value = asFailure(error);
  }
}

export function setSources(sources: readonly T.Source[]): void {
  const list = sourceList.peek();
  if (list === null) return;
  const first = sources[0]?.id ?? null;
  const kept = sources.some((each) => each.id === list.default_id) ? list.default_id : first;
  sourceList.value = { ...list, sources: [...sources], default_id: kept };
}

export function asFailure(error: unknown): SourceError {
  return error instanceof SourceError ? error : new SourceError("page", error instanceof Error ? error.message : String(error));
}
