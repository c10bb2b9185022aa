/** What is happening now: answers that are arriving, runs that were started here, and the line to the server. */

import { batch, signal } from "@preact/signals";
import type * as T from "../api/types.gen.ts";
import { appended, type LiveExchange } from "../model/answers.ts";
import { rowsChanged } from "./rows.ts";
import { setSources, source, sourceList, start } from "./session.ts";

export const isConnected = signal<boolean | null>(null);
export const exchanges = signal<ReadonlyMap<string, LiveExchange>>(new Map());
export const runs = signal<ReadonlyMap<string, T.Run>>(new Map());
/** Grows whenever rows of a source have changed, by its id: views of one row ask again. */
export const versions = signal<ReadonlyMap<string, number>>(new Map());

/** Streams come in far smaller pieces than a screen is drawn: gather what arrives between two frames. */
let gathered: T.LiveEvent[] = [];
let isPlanned = false;

export function listen(): () => void {
  if (!source().abilities.live) return () => undefined;
  return source().listen(
    (event) => {
      gathered.push(event);
      if (isPlanned) return;
      isPlanned = true;
      // Frames are not drawn in a tab that is not seen; a timer runs there too, if slowly.
      if (document.hidden) setTimeout(tell, 250);
      else requestAnimationFrame(tell);
    },
    (is) => {
      isConnected.value = is;
    },
  );
}

function tell(): void {
  isPlanned = false;
  const events = gathered;
  gathered = [];
  batch(() => events.forEach(hear));
}

export function putRun(run: T.Run): void {
  runs.value = new Map(runs.value).set(run.id, run);
}

function hear(event: T.LiveEvent): void {
  switch (event.type) {
    case "hello":
      if (sourceList.peek() === null) void start();
      refresh(event.sources);
      runs.value = new Map(event.runs.map((run) => [run.id, run]));
      break;
    case "reset":
      exchanges.value = new Map();
      void start().then(() => refresh(sourceList.peek()?.sources ?? []));
      break;
    case "sources":
      refresh(event.sources);
      break;
    case "graph":
      grown(event);
      break;
    case "begun":
      putExchange({ ...event, id: event.exchange_id, answer: [], state: "live" });
      break;
    case "delta":
      changeExchange(event.exchange_id, (old) => ({ ...old, answer: appended(old.answer, event) }));
      break;
    case "ended":
      ended(event);
      break;
    case "run_begun":
    case "run_ended":
      putRun(event.run);
      break;
    case "run_delta":
      changeRun(event.run_id, (run) => ({ ...run, answer: appended(run.answer, event) }));
      break;
    case "run_turn":
      changeRun(event.run_id, (run) => ({ ...run, turn_id: event.turn_id, answer: [], question: null, state: "running" }));
      break;
    case "run_ask":
      changeRun(event.run_id, (run) => ({ ...run, state: "asking", question: event }));
      break;
    case "run_note":
      changeRun(event.run_id, (run) => ({ ...run, notes: [...run.notes, event.text] }));
      break;
  }
}

function refresh(sources: readonly T.Source[]): void {
  const before = new Map(sourceList.peek()?.sources.map((each) => [each.id, each.version]));
  setSources(sources);
  for (const each of sources) {
    if (before.get(each.id) === each.version) continue;
    rowsChanged(each.id, 0, each.rows);
    versions.value = new Map(versions.value).set(each.id, each.version);
  }
}

function grown(event: T.EventGraph): void {
  rowsChanged(event.source_id, event.from_row, event.total);
  versions.value = new Map(versions.value).set(event.source_id, event.version);
  const list = sourceList.peek();
  if (list === null) return;
  setSources(
    list.sources.map((each) =>
      each.id === event.source_id ? { ...each, rows: event.total, version: event.version } : each,
    ),
  );
}

function putExchange(exchange: LiveExchange): void {
  exchanges.value = new Map(exchanges.value).set(exchange.id, exchange);
}

function changeExchange(id: string, change: (old: LiveExchange) => LiveExchange): void {
  const old = exchanges.value.get(id);
  if (old !== undefined) putExchange(change(old));
}

/** An answer that has a row now is shown there; one that was being watched is followed to it (views/live). */
function ended(event: T.EventEnded): void {
  changeExchange(event.exchange_id, (old) => ({ ...old, state: event.state, row_id: event.row_id }));
  setTimeout(() => {
    const rest = new Map(exchanges.value);
    if (rest.delete(event.exchange_id)) exchanges.value = rest;
  }, 4000);
}

function changeRun(id: string, change: (run: T.Run) => T.Run): void {
  const run = runs.value.get(id);
  if (run !== undefined) putRun(change(run));
}
