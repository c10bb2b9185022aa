/** The conversations of a source, newest first: ends of threads, or trees of requests. */

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { ago, bytes, moment, plural } from "../../model/times.ts";
import { mover } from "../../state/keys.ts";
import { versions } from "../../state/live.ts";
import { go, route } from "../../state/place.ts";
import { asFailure, rowWord, shown, source } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Failed, Waiting } from "../../ui/states.tsx";
import { Name, Text } from "../../ui/text.tsx";
import "./threads.css";

export function ThreadList(): JSX.Element {
  const from = shown.value;
  if (from === null) return <Waiting label="Loading…" />;
  return <ThreadsOf key={from.id} sourceId={from.id} version={versions.value.get(from.id) ?? from.version} />;
}

function ThreadsOf({ sourceId, version }: { sourceId: string; version: number }): JSX.Element {
  const [threads, setThreads] = useState<readonly T.ThreadEntry[] | null>(null);
  const [next, setNext] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const asked = useRef(0);
  const read = async (after: string | null): Promise<void> => {
    asked.current += 1;
    const mine = asked.current;
    try {
      const page = await source().threads(sourceId, after);
      if (asked.current !== mine) return;
      setThreads(after === null ? page.threads : [...(threads ?? []), ...page.threads]);
      setNext(page.next);
      setProblem("");
    } catch (error) {
      if (asked.current === mine) setProblem(asFailure(error).message);
    }
  };
  useEffect(() => {
    // While much is arriving, the list is asked for once things have settled.
    const timer = setTimeout(() => void read(null), threads === null ? 0 : 800);
    return () => clearTimeout(timer);
  }, [version]);
  const chosen = route.value.row;
  const choose = (entry: T.ThreadEntry, step: "push" | "replace" = "push"): void => go({ row: entry.id, tree: null, message: null, source: sourceId }, step);
  useLayoutEffect(() => {
    const all = threads ?? [];
    const at = (): number => all.findIndex((entry) => entry.id === route.peek().row);
    const to = (index: number): void => {
      const entry = all[Math.max(0, Math.min(all.length - 1, index))];
      if (entry !== undefined) choose(entry, "replace");
    };
    const mine = { step: (by: number) => to(at() === -1 ? 0 : at() + by), end: (which: "first" | "last") => to(which === "first" ? 0 : all.length - 1) };
    mover.value = mine;
    return () => {
      if (mover.peek() === mine) mover.value = null;
    };
  }, [threads]);
  useEffect(() => {
    document.getElementById(`thread-${chosen ?? ""}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  if (problem !== "" && threads === null) return <Failed title="The conversations could not be loaded" reason={problem} again={() => void read(null)} />;
  if (threads === null) return <Waiting label="Loading…" />;
  if (threads.length === 0) {
    return (
      <Empty icon="threads" title="No conversations yet">
        <p>
          Begin one: <code>weft ask "…"</code>
        </p>
      </Empty>
    );
  }
  const now = Date.now();
  return (
    <section class="rows" aria-label="Conversations">
      <header class="pane-head">
        <h1 class="pane-title">{plural(threads.length, "conversation")}{next === null ? "" : "+"}</h1>
      </header>
      <div class="thread-list" role="listbox" tabIndex={0} aria-label="Conversations, newest first" aria-activedescendant={chosen === null ? undefined : `thread-${chosen}`}>
        {threads.map((entry) => (
          <div
            key={entry.id}
            id={`thread-${entry.id}`}
            class={`thread ${entry.id === chosen ? "is-selected" : ""}`}
            role="option"
            aria-selected={entry.id === chosen}
            onClick={() => choose(entry)}
          >
            <div class="row-top">
              <span class="row-gist">
                <Text text={entry.title || "-"} />
              </span>
              {entry.bookmarks.map((name) => (
                <Badge key={name} tone="accent">
                  <Text text={name} />
                </Badge>
              ))}
            </div>
            <div class="row-bottom">
              <span>{plural(entry.rows, rowWord.value)}</span>
              {entry.models.slice(0, 2).map((model) => (
                <span key={model} class="row-model">
                  <Name name={model} />
                </span>
              ))}
              {entry.models.length > 2 ? <span>+{entry.models.length - 2}</span> : null}
              <span class="grow" />
              {entry.size_bytes === null ? null : <span>{bytes(entry.size_bytes)}</span>}
              <time title={moment(entry.timestamp_ms)}>{ago(entry.timestamp_ms, now)}</time>
            </div>
          </div>
        ))}
      </div>
      <footer class="pane-foot">
        {chosen === null ? null : (
          <button type="button" class="button quiet small" onClick={() => go({ screen: "graph", tree: chosen, row: chosen })}>
            <Icon name="tree" size={14} />
            Show its graph
          </button>
        )}
        {next === null ? null : (
          <button type="button" class="button quiet small" onClick={() => void read(next)}>
            Older ones
          </button>
        )}
        {problem === "" ? null : <span role="alert">{problem}</span>}
      </footer>
    </section>
  );
}
