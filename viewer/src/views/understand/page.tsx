/** What it all used: tokens, money, time, the prompt cache; and where that cache was missed, and why. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { timeSteps } from "../../model/chart.ts";
import { count, duration, grouped, money, percent, plural } from "../../model/times.ts";
import { versions } from "../../state/live.ts";
import { useLoad } from "../../state/load.ts";
import { go } from "../../state/place.ts";
import { rowWord, shown, source } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Bars, Share, type Bar } from "../../ui/chart.tsx";
import { Empty, Failed, Waiting } from "../../ui/states.tsx";
import { Tabs, TabPanel } from "../../ui/tabs.tsx";
import { Text } from "../../ui/text.tsx";
import "./understand.css";

const AT_ONCE = 200;

export function UnderstandPage(): JSX.Element {
  const from = shown.value;
  if (from === null) return <Waiting label="Loading…" />;
  return <Understood key={from.id} from={from} />;
}

function Understood({ from }: { from: T.Source }): JSX.Element {
  const version = versions.value.get(from.id) ?? from.version;
  const [round, setRound] = useState(0);
  const stats = useLoad(`stats/${from.id}@${version}-${round}`, () => source().stats(from.id));
  const made = stats.value;
  const isPartial = made !== null && made.scanned < made.total;
  useEffect(() => {
    if (!isPartial) return;
    const timer = setTimeout(() => setRound(round + 1), 250);
    return () => clearTimeout(timer);
  }, [isPartial, round, made]);
  const [by, setBy] = useState<T.StatsBy>(from.rows <= AT_ONCE ? "request" : "day");
  if (stats.failure !== null && made === null) return <Failed title="This could not be added up" reason={stats.failure.message} again={stats.again} />;
  if (made === null) return <Waiting label="Adding up…" />;
  if (made.total === 0) {
    return (
      <Empty icon="chart" title="Nothing to add up yet">
        <p>As soon as something was recorded, its tokens, cost and time are here.</p>
      </Empty>
    );
  }
  return (
    <div class="understand" tabIndex={0} role="region" aria-label="Usage">
      <header class="understand-head">
        <h1>{from.name}</h1>
        {isPartial ? <Badge tone="accent">{`adding up, ${percent(made.scanned, made.total)}`}</Badge> : null}
      </header>
      <Tiles totals={made.totals} />
      <Tabs
        name="Grouped by"
        tabs={[
          { id: "day", label: "By day" },
          { id: "thread", label: "By conversation" },
          { id: "model", label: "By model" },
          { id: "request", label: `By ${rowWord.value}` },
        ]}
        chosen={by}
        choose={setBy}
      />
      <TabPanel name="Grouped by" chosen={by}>
        <Groups key={by} sourceId={from.id} by={by} version={`${version}-${made.scanned}`} />
      </TabPanel>
      <Misses sourceId={from.id} version={`${version}-${made.scanned}`} total={made.misses} />
    </div>
  );
}

function Tiles({ totals }: { totals: T.Totals }): JSX.Element {
  return (
    <dl class="tiles">
      <Tile name={rowWord.value === "turn" ? "Turns" : "Requests"} value={grouped(totals.requests)}>
        {totals.failed === 0 ? "none failed" : <span class="count-deleted">{grouped(totals.failed)} failed</span>}
      </Tile>
      <Tile name="Input tokens" value={count(totals.input_tokens)}>
        <Share part={totals.cached_tokens} whole={totals.input_tokens} title={`${percent(totals.cached_tokens, totals.input_tokens)} from the cache`} />
        {percent(totals.cached_tokens, totals.input_tokens)} from the cache
      </Tile>
      <Tile name="Output tokens" value={count(totals.output_tokens)}>
        {totals.reasoning_tokens === 0 ? "" : `${count(totals.reasoning_tokens)} of them thinking`}
      </Tile>
      <Tile name="Cost" value={totals.cost_usd === null ? "not known" : money(totals.cost_usd)}>
        {totals.with_cost < totals.requests ? `of ${count(totals.with_cost)} with a known price` : ""}
      </Tile>
      <Tile name="Time" value={duration(totals.duration_ms)}>
        {totals.requests === 0 ? "" : `${duration(totals.duration_ms / totals.requests)} on average`}
      </Tile>
    </dl>
  );
}

function Tile({ name, value, children }: { name: string; value: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd class="tile-value">{value}</dd>
      <dd class="tile-more">{children}</dd>
    </div>
  );
}

function Groups({ sourceId, by, version }: { sourceId: string; by: T.StatsBy; version: string }): JSX.Element {
  const [offset, setOffset] = useState<number | null>(null);
  const first = useLoad(`groups/${sourceId}/${by}/${offset ?? "end"}@${version}`, async () => {
    if (offset !== null) return source().groups(sourceId, by, offset, AT_ONCE);
    // What is newest is asked about first: the last page, in order of time.
    const page = await source().groups(sourceId, by, 0, AT_ONCE);
    return page.total > AT_ONCE && (by === "request" || by === "day") ? source().groups(sourceId, by, page.total - AT_ONCE, AT_ONCE) : page;
  });
  if (first.failure !== null && first.value === null) return <Failed title="This could not be added up" reason={first.failure.message} again={first.again} />;
  if (first.value === null) return <Waiting label="Adding up…" />;
  const { groups, total, offset: at } = first.value;
  if (groups.length === 0) return <p class="nothing">Nothing here.</p>;
  const bars = (values: (totals: T.Totals) => readonly number[]): Bar[] => groups.map((group) => ({ key: group.key, label: group.label, values: values(group.totals) }));
  const open = (key: string): void => {
    if (by === "request") go({ screen: "graph", row: key, tree: null });
    if (by === "thread") go({ screen: "graph", tree: key, row: key });
    if (by === "day") go({ screen: "find", filters: { text: "", role: "", model: "", tool: "", error: false, since: key, until: key } });
    if (by === "model") go({ screen: "find", filters: { text: "", role: "", model: key, tool: "", error: false, since: "", until: "" } });
  };
  const hasCost = groups.some((group) => group.totals.cost_usd !== null);
  return (
    <>
      <div class="charts">
        <Bars
          title="Tokens"
          series={[
            { name: "input from the cache", colour: 1 },
            { name: "other input", colour: 0 },
            { name: "output", colour: 2 },
          ]}
          bars={bars((totals) => [totals.cached_tokens, Math.max(0, totals.input_tokens - totals.cached_tokens), totals.output_tokens])}
          shown={count}
          choose={open}
        />
        {hasCost ? <Bars title="Cost" series={[{ name: "cost", colour: 3 }]} bars={bars((totals) => [totals.cost_usd ?? 0])} shown={money} choose={open} /> : null}
        <Bars title="Time" series={[{ name: "time", colour: 4 }]} bars={bars((totals) => [totals.duration_ms])} shown={(ms) => (ms === 0 ? "0" : duration(ms).replace(/ 00[sm]$/, "").replace(".0s", "s"))} marksTo={timeSteps} choose={open} />
        <Bars
          title="Share of input from the cache"
          series={[{ name: "from the cache", colour: 1 }]}
          bars={bars((totals) => [totals.input_tokens > 0 ? totals.cached_tokens / totals.input_tokens : 0])}
          shown={(share) => `${Math.round(share * 100)}%`}
          choose={open}
        />
      </div>
      <GroupTable groups={groups} by={by} open={open} />
      {total > groups.length ? (
        <div class="pager">
          <button type="button" class="button small" disabled={at === 0} onClick={() => setOffset(Math.max(0, at - AT_ONCE))}>
            Earlier
          </button>
          <span class="quiet-text">
            {grouped(at + 1)}–{grouped(at + groups.length)} of {grouped(total)}
          </span>
          <button type="button" class="button small" disabled={at + groups.length >= total} onClick={() => setOffset(Math.min(total - 1, at + AT_ONCE))}>
            Later
          </button>
        </div>
      ) : null}
    </>
  );
}

function GroupTable({ groups, by, open }: { groups: readonly T.StatGroup[]; by: T.StatsBy; open: (key: string) => void }): JSX.Element {
  const [most, setMost] = useState(25);
  const ordered = by === "day" || by === "request" ? [...groups].reverse() : groups;
  return (
    <div class="table-box" tabIndex={0} role="group" aria-label="The same as a table">
      <table class="stat-table">
        <thead>
          <tr>
            <th scope="col">{{ day: "Day", thread: "Conversation", model: "Model", request: rowWord.value === "turn" ? "Turn" : "Request" }[by]}</th>
            <th scope="col">Calls</th>
            <th scope="col">Failed</th>
            <th scope="col">Input</th>
            <th scope="col">Cached</th>
            <th scope="col">Output</th>
            <th scope="col">Cost</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {ordered.slice(0, most).map((group) => (
            <tr key={group.key}>
              <th scope="row">
                <button type="button" class="link" onClick={() => open(group.key)}>
                  <Text text={group.label || group.key || "unknown"} />
                </button>
              </th>
              <td>{grouped(group.totals.requests)}</td>
              <td class={group.totals.failed > 0 ? "count-deleted" : "quiet-text"}>{grouped(group.totals.failed)}</td>
              <td>{count(group.totals.input_tokens)}</td>
              <td>{percent(group.totals.cached_tokens, group.totals.input_tokens)}</td>
              <td>{count(group.totals.output_tokens)}</td>
              <td>{group.totals.cost_usd === null ? "–" : money(group.totals.cost_usd)}</td>
              <td>{duration(group.totals.duration_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {ordered.length > most ? (
        <button type="button" class="button quiet small" onClick={() => setMost(ordered.length)}>
          {ordered.length - most} more
        </button>
      ) : null}
    </div>
  );
}

const REASONS: Readonly<Record<T.CacheMissReason, string>> = {
  first_of_thread: "first of its conversation",
  model_changed: "model changed",
  tools_changed: "tools changed",
  system_changed: "system prompt changed",
  history_changed: "history changed",
  expired: "expired",
  too_short: "too short",
  not_reported: "not reported",
  unknown: "unknown",
};

function Misses({ sourceId, version, total }: { sourceId: string; version: string; total: number }): JSX.Element {
  const [most, setMost] = useState(50);
  const loaded = useLoad(`misses/${sourceId}/${most}@${version}`, () => source().misses(sourceId, 0, most));
  const misses = loaded.value?.misses ?? [];
  return (
    <section class="misses" aria-label="Missed prompt caches">
      <h2 class="section-title">
        Missed prompt caches <span class="quiet-text">{grouped(loaded.value?.total ?? total)}</span>
      </h2>
      {loaded.failure === null ? null : <p role="alert">{loaded.failure.message}</p>}
      {loaded.value !== null && misses.length === 0 ? <p class="nothing">None: nothing that was sent before was paid for again.</p> : null}
      {misses.length === 0 ? null : (
        <ul class="miss-list">
          {misses.map((miss) => (
            <li key={miss.row_id}>
              <button type="button" class="link" onClick={() => go({ screen: "graph", row: miss.row_id, tree: null, message: miss.message_id, tab: miss.reason === "tools_changed" ? "tools" : "messages" })}>
                {rowWord.value} {grouped(miss.row + 1)}
              </button>
              <Badge tone={miss.reason === "first_of_thread" || miss.reason === "not_reported" ? "quiet" : "warn"}>{REASONS[miss.reason] ?? miss.reason}</Badge>
              <span>
                <Text text={miss.detail} />
              </span>
              {miss.expected_tokens === null ? null : (
                <span class="quiet-text">
                  {count(miss.cached_tokens ?? 0)} of {count(miss.expected_tokens)} tokens
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {(loaded.value?.total ?? 0) > misses.length ? (
        <button type="button" class="button quiet small" onClick={() => setMost(most + 200)}>
          {plural((loaded.value?.total ?? 0) - misses.length, "more", "more")}
        </button>
      ) : null}
    </section>
  );
}
