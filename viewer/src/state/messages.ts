/** Messages by id. Those asked for in one moment are asked for together; the most recent ones are kept. */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type * as T from "../api/types.gen.ts";
import { asFailure, source } from "./session.ts";

/** How much of a message comes at first: enough for any folded card. */
export const FOLDED = 2000;
/** How much comes when it is unfolded; the rest is read on in pieces. */
export const UNFOLDED = 100_000;

const MOST_KEPT = 3000;
const MOST_CHARACTERS = 20_000_000;
const BATCH = 100;

export interface Body {
  readonly message: T.Message | null;
  readonly failure: string | null;
}

interface Entry {
  readonly body: Signal<Body>;
  max: number;
}

const entries = new Map<string, Entry>();
const waiting = new Map<string, Set<string>>();
let characters = 0;
let isPlanned = false;

/** A message, asked for unless as much of it is here already. */
export function message(sourceId: string, id: string, max: number = FOLDED): ReadonlySignal<Body> {
  const key = `${sourceId}/${id}`;
  let entry = entries.get(key);
  if (entry === undefined) {
    entry = { body: signal({ message: null, failure: null }), max: 0 };
    entries.set(key, entry);
  }
  const here = entry.body.peek().message;
  if (entry.max < max && (here === null || here.is_cut || here.tool_calls.some((call) => call.is_cut))) {
    entry.max = max;
    const group = `${sourceId} ${max}`;
    const ids = waiting.get(group) ?? new Set();
    ids.add(id);
    waiting.set(group, ids);
    if (!isPlanned) {
      isPlanned = true;
      setTimeout(askAll, 0);
    }
  }
  return entry.body;
}

function askAll(): void {
  isPlanned = false;
  for (const [group, ids] of waiting) {
    const [sourceId = "", max = "0"] = group.split(" ");
    const all = [...ids];
    for (let at = 0; at < all.length; at += BATCH) void ask(sourceId, all.slice(at, at + BATCH), Number(max));
  }
  waiting.clear();
}

async function ask(sourceId: string, ids: readonly string[], max: number): Promise<void> {
  const settle = (id: string, body: Body): void => {
    const entry = entries.get(`${sourceId}/${id}`);
    if (entry === undefined) return;
    if (body.message === null) entry.max = 0;
    characters += (body.message?.content.length ?? 0) - (entry.body.peek().message?.content.length ?? 0);
    entry.body.value = body;
  };
  try {
    const { messages } = await source().messages(sourceId, ids, max);
    const missing = new Set(ids);
    for (const each of messages) {
      missing.delete(each.id);
      settle(each.id, { message: each, failure: null });
    }
    for (const id of missing) settle(id, { message: null, failure: "this message is no longer there" });
  } catch (error) {
    for (const id of ids) settle(id, { message: null, failure: asFailure(error).message });
  }
  trim();
}

/** Forget the oldest; a card that is still shown keeps its own signal. */
function trim(): void {
  for (const [key, entry] of entries) {
    if (entries.size <= MOST_KEPT && characters <= MOST_CHARACTERS) break;
    characters -= entry.body.peek().message?.content.length ?? 0;
    entries.delete(key);
  }
}
