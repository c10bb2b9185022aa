/** The list of requests or turns, in order of time, with the graph of what continues what. */

import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { ROW_HEIGHT, squeeze } from "../../model/geometry.ts";
import { spelled } from "../../model/visible.ts";
import { clock, day, duration, isSlow, moment, plural } from "../../model/times.ts";
import { ROLE_NAMES } from "../../parts/roles.ts";
import { mover } from "../../state/keys.ts";
import { go, route } from "../../state/place.ts";
import { isFollowing } from "../../state/prefs.ts";
import { rowsOf, type Rows } from "../../state/rows.ts";
import { firstRow, isPinned, select, selected } from "../../state/selection.ts";
import { rowWord, shown } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Failed, Waiting } from "../../ui/states.tsx";
import { Name, Text } from "../../ui/text.tsx";
import { Virtual } from "../../ui/virtual.tsx";
import { LiveStrip } from "../live/strip.tsx";
import { GraphLines } from "./graph.tsx";
import "./list.css";

export function RowList(): JSX.Element {
  const source = shown.value;
  const tree = route.value.tree;
  if (source === null) return <EmptyPage />;
  return <ListOf key={`${source.id}/${tree ?? ""}`} source={source} tree={tree} />;
}

function EmptyPage(): JSX.Element {
  return (
    <Empty icon="tree" title="Nothing to look at yet">
      <p>
        Record something with <code>weft proxy</code>, or give <code>weft view</code> a trace.
      </p>
    </Empty>
  );
}

function ListOf({ source, tree }: { source: T.Source; tree: string | null }): JSX.Element {
  const rows = useMemo(() => rowsOf(source.id, tree), [source.id, tree]);
  void rows.change.value;
  const chosen = selected.value;
  const at = useRowOf(rows, chosen);
  const seen = useCallback((first: number, last: number) => void rows.need(first, last), [rows, rows.change.value]);
  useEffect(() => void rows.need(0, 1), [rows]);
  useSignalEffect(() => {
    void rows.change.value;
    const first = rows.at(0);
    if (first !== null && first.id !== firstRow.peek()?.id) firstRow.value = { source: source.id, tree, id: first.id };
  });
  useMover(rows, at);
  useFollowing(rows);

  const failure = rows.failure.value;
  if (!rows.isKnown && failure !== null) return <Failed title="The rows could not be loaded" reason={failure.message} again={() => void rows.need(0, 1)} />;
  if (!rows.isKnown) return <Waiting label={source.is_loading ? "Reading the recording…" : "Loading…"} />;
  return (
    <section class="rows" aria-label={rowWord.value === "turn" ? "Turns" : "Requests"}>
      <ListHead source={source} tree={tree} total={rows.total} />
      {rows.total === 0 ? <NoRows source={source} /> : <RowsBox rows={rows} chosen={chosen} at={at} seen={seen} />}
      <LiveStrip sourceId={source.id} />
    </section>
  );
}

function RowsBox({ rows, chosen, at, seen }: { rows: Rows; chosen: string | null; at: number | null; seen: (first: number, last: number) => void }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(400);
  useEffect(() => {
    const list = box.current;
    if (list === null) return;
    const observer = new ResizeObserver(() => setRoom(list.clientWidth));
    observer.observe(list);
    return () => observer.disconnect();
  }, []);
  const factor = squeeze(rows.width, room * 0.4);
  const width = Math.ceil(rows.width * factor);
  const now = rows.change.value;
  return (
    <Virtual
      box={box}
      total={rows.total}
      rowHeight={ROW_HEIGHT}
      label={`${plural(rows.total, rowWord.value)}, in order of time`}
      activeId={chosen === null ? undefined : `row-${chosen}`}
      inSight={at}
      seen={seen}
      draw={(first, last) => (
        <>
          {range(first, last).map((row) => (
            <Row key={rows.at(row)?.id ?? row} rows={rows} row={row} width={width} selected={chosen} now={now} />
          ))}
          <GraphLines rows={rows} first={first} last={last} width={width} factor={factor} selected={chosen} />
        </>
      )}
    />
  );
}

function ListHead({ source, tree, total }: { source: T.Source; tree: string | null; total: number }): JSX.Element {
  return (
    <header class="pane-head">
      <h1 class="pane-title">{plural(total, rowWord.value)}</h1>
      {tree === null ? null : (
        <button type="button" class="chip" onClick={() => go({ tree: null })}>
          one conversation
          <Icon name="close" size={11} />
          <span class="off-screen">show all again</span>
        </button>
      )}
      {source.is_loading ? <Badge tone="accent">reading…</Badge> : null}
      <span class="grow" />
      {source.is_live ? (
        <button
          type="button"
          class={`chip ${isFollowing.value ? "is-on" : ""}`}
          aria-pressed={isFollowing.value}
          title="Select each new one as it arrives (l)"
          onClick={() => {
            isFollowing.value = !isFollowing.value;
          }}
        >
          <span class="live-dot" aria-hidden="true" />
          follow
        </button>
      ) : null}
      {source.problems.length > 0 ? (
        <span class="problem" title={source.problems.join("\n")} role="img" aria-label={source.problems.join("; ")}>
          <Icon name="warn" size={14} />
        </span>
      ) : null}
    </header>
  );
}

function NoRows({ source }: { source: T.Source }): JSX.Element {
  if (source.is_loading) return <Waiting label="Reading the recording…" />;
  return source.kind === "threads" ? (
    <Empty icon="threads" title="No turns yet">
      <p>
        Ask something: <code>weft ask "…"</code>. It appears here by itself.
      </p>
    </Empty>
  ) : (
    <Empty icon="tree" title="No requests yet">
      <p>
        {source.is_live ? "Waiting. Whatever goes through the proxy appears here as it happens." : "This recording holds no requests."}
      </p>
    </Empty>
  );
}

function Row({ rows, row, width, selected: chosen }: { rows: Rows; row: number; width: number; selected: string | null; now: number }): JSX.Element {
  const found = rows.at(row);
  const style = { height: `${ROW_HEIGHT}px`, paddingLeft: `${width}px` };
  if (found === null) {
    return (
      <div class="row row-ghost" role="option" aria-selected="false" style={style}>
        <span class="off-screen">loading</span>
      </div>
    );
  }
  const isChosen = found.id === chosen;
  return (
    <div
      id={`row-${found.id}`}
      class={`row ${isChosen ? "is-selected" : ""} row-${found.state}`}
      role="option"
      aria-selected={isChosen}
      aria-setsize={rows.total}
      aria-posinset={row + 1}
      style={style}
      onClick={() => select(found.id, "push")}
      title={`${moment(found.timestamp_ms)}\n${spelled(found.gist)}`}
    >
      <div class="row-text">
        <div class="row-top">
          <span class="row-gist">
            <Text text={found.gist || "-"} />
          </span>
          {found.bookmarks.map((name) => (
            <Badge key={name} tone="accent">
              <Text text={name} />
            </Badge>
          ))}
          {isPinned(rows.sourceId, found.id) ? <Badge tone="warn">compared</Badge> : null}
        </div>
        <div class="row-bottom">
          <span class={`role-name role-${found.role}`}>{(ROLE_NAMES[found.role] ?? found.role).toLowerCase()}</span>
          {found.model === "" ? null : (
            <span class="row-model">
              <Name name={found.model} />
            </span>
          )}
          <span class="grow" />
          {found.state === "failed" ? <Badge tone="bad">failed</Badge> : null}
          {found.state === "incomplete" ? <Badge tone="warn">cut short</Badge> : null}
          {found.state === "live" ? <Badge tone="accent">live</Badge> : null}
          {found.duration_ms > 0 ? <span class={`row-duration ${isSlow(found.duration_ms) ? "is-slow" : ""}`}>{duration(found.duration_ms)}</span> : null}
          <time class="row-time">{isToday(found.timestamp_ms) ? clock(found.timestamp_ms) : `${day(found.timestamp_ms).slice(5)} ${clock(found.timestamp_ms).slice(0, 5)}`}</time>
        </div>
      </div>
    </div>
  );
}

function isToday(at: number): boolean {
  return day(at) === day(Date.now());
}

/** Where the selected row is; asked for if it is not among those that are known. */
function useRowOf(rows: Rows, id: string | null): number | null {
  const [at, setAt] = useState<number | null>(null);
  const known = id === null ? null : rows.byId(id);
  useEffect(() => {
    if (id === null || known !== null) return;
    let isWanted = true;
    void rows.find(id).then((row) => isWanted && setAt(row?.row ?? null));
    return () => {
      isWanted = false;
    };
  }, [rows, id, known === null]);
  return known?.row ?? (id === null ? null : at);
}

/**
 * Keys may come faster than the page is drawn: each begins from what is selected at that moment, or from where the one
 * before is still on its way to.
 */
function useMover(rows: Rows, at: number | null): void {
  const drawn = useRef(at);
  drawn.current = at;
  useLayoutEffect(() => {
    let heading: number | null = null;
    const here = (): T.GraphRow | null => {
      const id = selected.peek();
      const known = id === null ? null : rows.byId(id);
      return known ?? (drawn.current === null ? null : rows.at(drawn.current));
    };
    const to = async (row: number): Promise<void> => {
      const wanted = Math.max(0, Math.min(rows.total - 1, row));
      heading = wanted;
      await rows.need(wanted, wanted + 1);
      if (heading !== wanted) return;
      heading = null;
      const found = rows.at(wanted);
      if (found !== null) select(found.id);
    };
    const leap = (id: string | null | undefined): void => {
      heading = null;
      if (id) select(id);
    };
    const mine = {
      step: (by: number) => void to((heading ?? here()?.row ?? drawn.current ?? 0) + by),
      end: (which: "first" | "last") => void to(which === "first" ? 0 : rows.total - 1),
      child: () => leap(here()?.child_id),
      parent: () => leap(here()?.parent_id),
      open: () => {
        const id = here()?.id;
        if (id) select(id, "push");
      },
    };
    mover.value = mine;
    return () => {
      if (mover.peek() === mine) mover.value = null;
    };
  }, [rows]);
}

/** While following, each new last row is selected as soon as it is there. */
function useFollowing(rows: Rows): void {
  const total = rows.total;
  const followed = useRef(0);
  const now = rows.change.value;
  useEffect(() => {
    if (!isFollowing.value) {
      followed.current = 0;
      return;
    }
    if (total === 0 || followed.current === total) return;
    void rows.need(total - 1, total).then(() => {
      const last = rows.at(total - 1);
      if (last === null || followed.current === total) return;
      followed.current = total;
      select(last.id);
    });
  }, [total, now, isFollowing.value]);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
}
