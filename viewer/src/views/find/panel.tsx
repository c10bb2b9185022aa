/** Search with filters. What is found takes the place of the list; the keys that move through rows move through hits. */

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { bounds, isFiltered, NO_FILTERS, type Filters } from "../../model/route.ts";
import { ago, count, moment, plural } from "../../model/times.ts";
import { ROLE_NAMES, ROLES } from "../../parts/roles.ts";
import { mover } from "../../state/keys.ts";
import { useLoad } from "../../state/load.ts";
import { go, route } from "../../state/place.ts";
import { asFailure, shown, source } from "../../state/session.ts";
import { Icon } from "../../ui/icons.tsx";
import { Empty, Failed } from "../../ui/states.tsx";
import { Marked, Name } from "../../ui/text.tsx";
import "./find.css";

const ENOUGH = 50;
const MOST = 2000;

export function FindPanel(): JSX.Element {
  const from = shown.value;
  const { filters } = route.value;
  return (
    <section class="rows find" aria-label="Search">
      <FilterBar filters={filters} sourceId={from?.id ?? null} />
      {from === null || !isFiltered(filters) ? (
        <Empty icon="search" title="Find anything that was said">
          <p>Type words above, or choose a filter. Several words must all be there.</p>
        </Empty>
      ) : (
        <Found key={`${from.id} ${JSON.stringify(filters)}`} sourceId={from.id} filters={filters} />
      )}
    </section>
  );
}

function FilterBar({ filters, sourceId }: { filters: Filters; sourceId: string | null }): JSX.Element {
  const set = (change: Partial<Filters>): void => go({ filters: { ...filters, ...change }, message: null }, "replace");
  const models = useLoad(sourceId === null ? null : `models/${sourceId}`, () => source().groups(sourceId as string, "model", 0, 200));
  return (
    <div class="filters" role="group" aria-label="Filters">
      <label>
        <span>Role</span>
        <select value={filters.role} onChange={(event) => set({ role: event.currentTarget.value })}>
          <option value="">any</option>
          {ROLES.map((role) => (
            <option key={role} value={role}>
              {ROLE_NAMES[role]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Model</span>
        <select value={filters.model} onChange={(event) => set({ model: event.currentTarget.value })}>
          <option value="">any</option>
          {[...new Set([...(models.value?.groups.map((group) => group.key) ?? []), filters.model])].filter((model) => model !== "").map((model) => (
            <option key={model} value={model}>
              {model}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Tool</span>
        <LazyInput label="tool" value={filters.tool} set={(tool) => set({ tool })} />
      </label>
      <label>
        <span>Since</span>
        <input type="date" value={filters.since} onChange={(event) => set({ since: event.currentTarget.value })} />
      </label>
      <label>
        <span>Until</span>
        <input type="date" value={filters.until} onChange={(event) => set({ until: event.currentTarget.value })} />
      </label>
      <label class="check">
        <input type="checkbox" checked={filters.error} onChange={(event) => set({ error: event.currentTarget.checked })} />
        <span>failed only</span>
      </label>
      {isFiltered({ ...filters, text: "" }) ? (
        <button type="button" class="button quiet small" onClick={() => set({ ...NO_FILTERS, text: filters.text })}>
          Clear filters
        </button>
      ) : null}
    </div>
  );
}

/** A field that speaks up when the typing pauses. */
function LazyInput({ label, value, set }: { label: string; value: string; set: (value: string) => void }): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => set(text.trim()), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return <input type="text" placeholder={`any ${label}`} value={text} onInput={(event) => setText(event.currentTarget.value)} />;
}

function Found({ sourceId, filters }: { sourceId: string; filters: Filters }): JSX.Element {
  const [hits, setHits] = useState<readonly T.SearchHit[]>([]);
  const [progress, setProgress] = useState<{ scanned: number; total: number; next: string | null; isBusy: boolean }>({ scanned: 0, total: 0, next: null, isBusy: true });
  const [problem, setProblem] = useState("");
  const isWanted = useRef(true);
  const read = async (from: string | null, known: readonly T.SearchHit[]): Promise<void> => {
    let next = from;
    let all = known;
    const wanted = known.length + ENOUGH;
    const words = { q: filters.text, role: filters.role, model: filters.model, tool: filters.tool, error: filters.error, ...bounds(filters) };
    try {
      do {
        const page = await source().search(sourceId, words, next);
        if (!isWanted.current) return;
        all = [...all, ...page.hits];
        next = page.next;
        setHits(all);
        setProgress({ scanned: page.scanned, total: page.total, next, isBusy: next !== null && all.length < wanted });
      } while (next !== null && all.length < wanted);
    } catch (error) {
      if (isWanted.current) setProblem(asFailure(error).message);
    }
    if (isWanted.current) setProgress((old) => ({ ...old, isBusy: false }));
  };
  useEffect(() => {
    isWanted.current = true;
    void read(null, []);
    return () => {
      isWanted.current = false;
    };
  }, []);
  const { row, message } = route.value;
  const at = hits.findIndex((hit) => hit.row_id === row && hit.message_id === message);
  const here = (): number => hits.findIndex((hit) => hit.row_id === route.peek().row && hit.message_id === route.peek().message);
  const choose = (hit: T.SearchHit, step: "push" | "replace"): void => go({ source: sourceId, row: hit.row_id, message: hit.message_id, tab: "messages" }, step);
  useLayoutEffect(() => {
    const to = (index: number): void => {
      const hit = hits[Math.max(0, Math.min(hits.length - 1, index))];
      if (hit !== undefined) choose(hit, "replace");
    };
    const mine = {
      step: (by: number) => to(here() === -1 ? 0 : here() + by),
      end: (which: "first" | "last") => to(which === "first" ? 0 : hits.length - 1),
      open: () => to(Math.max(0, here())),
    };
    mover.value = mine;
    return () => {
      if (mover.peek() === mine) mover.value = null;
    };
  }, [hits]);
  useEffect(() => {
    document.getElementById(`hit-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  if (problem !== "") return <Failed title="The search failed" reason={problem} />;
  const now = Date.now();
  const isMore = progress.next !== null && hits.length < MOST;
  return (
    <>
      <p class="found" role="status">
        {plural(hits.length, "hit")}
        {progress.next === null ? "" : "+"}
        <span class="quiet-text">
          {progress.isBusy ? ` · looking, ${count(progress.scanned)} of ${count(progress.total)}` : progress.next === null ? "" : ` · ${count(progress.scanned)} of ${count(progress.total)} looked at`}
        </span>
      </p>
      {hits.length === 0 && !progress.isBusy ? (
        <Empty icon="search" title="Nothing found">
          <p>Fewer words or fewer filters may help.</p>
        </Empty>
      ) : (
        <div class="thread-list" role="listbox" tabIndex={0} aria-label="Hits" aria-activedescendant={at === -1 ? undefined : `hit-${at}`}>
          {hits.map((hit, index) => (
            <div key={`${hit.row_id}-${hit.message_id}-${index}`} id={`hit-${index}`} class={`thread hit ${index === at ? "is-selected" : ""}`} role="option" aria-selected={index === at} onClick={() => choose(hit, "push")}>
              <p class="snippet">
                <Marked text={hit.snippet} marks={hit.marks} />
              </p>
              <div class="row-bottom">
                <span class={`role-name role-${hit.role}`}>{(ROLE_NAMES[hit.role] ?? hit.role).toLowerCase()}</span>
                <span class="row-model">
                  <Name name={hit.model} />
                </span>
                <span class="grow" />
                <time title={moment(hit.timestamp_ms)}>{ago(hit.timestamp_ms, now)}</time>
              </div>
            </div>
          ))}
        </div>
      )}
      {isMore && !progress.isBusy ? (
        <footer class="pane-foot">
          <button type="button" class="button quiet small" onClick={() => void read(progress.next, hits)}>
            <Icon name="down" size={14} />
            Look on
          </button>
        </footer>
      ) : null}
    </>
  );
}
