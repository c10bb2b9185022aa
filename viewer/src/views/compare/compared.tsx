/** Any two requests or turns, against each other: as one list with marks, or side by side. */

import { Fragment, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { paired, type Pair } from "../../model/pairs.ts";
import { splitRef } from "../../model/route.ts";
import { duration, moment, plural } from "../../model/times.ts";
import { MessageCard } from "../../parts/message.tsx";
import { versions } from "../../state/live.ts";
import { useLoad } from "../../state/load.ts";
import { go, route } from "../../state/place.ts";
import { asFailure, source, sourceNamed } from "../../state/session.ts";
import { Icon } from "../../ui/icons.tsx";
import { Failed, Waiting } from "../../ui/states.tsx";
import { Name, Text } from "../../ui/text.tsx";
import { Counters, Runs } from "../exchange/runs.tsx";
import { ToolCard } from "../exchange/tools.tsx";
import "./compare.css";

export function Compared({ left, right }: { left: string; right: string }): JSX.Element {
  const [from, to] = [splitRef(left), splitRef(right)];
  const version = `${versions.value.get(from.source) ?? 0}-${versions.value.get(to.source) ?? 0}`;
  const loaded = useLoad(`${left} ${right}@${version}`, () => source().compare(left, right));
  if (loaded.failure !== null && loaded.value === null) {
    return (
      <Failed title="These two could not be compared" reason={loaded.failure.message} again={loaded.again} />
    );
  }
  const made = loaded.value;
  if (made === null) return <Waiting label="Comparing…" />;
  const mode = route.value.mode;
  const changed = made.tools.filter((tool) => tool.change !== "unchanged");
  return (
    <div class="detail compared">
      <header class="detail-head">
        <div class="detail-line">
          <button type="button" class="button quiet back" onClick={() => go({ row: null })} aria-label="Back to the list">
            <Icon name="back" />
          </button>
          <h1 class="detail-title">Comparison</h1>
          <span class="grow" />
          <div class="segmented" role="group" aria-label="How to compare">
            <button type="button" aria-pressed={mode === "diff"} onClick={() => go({ mode: "diff" }, "replace")}>
              One list
            </button>
            <button type="button" aria-pressed={mode === "side"} onClick={() => go({ mode: "side" }, "replace")}>
              Side by side
            </button>
          </div>
          {source().exported === null ? (
            <>
              <button type="button" class="button" onClick={() => go({ source: from.source, row: from.row, compare: right })} title="Exchange the two">
                <Icon name="swap" size={14} />
                <span>Swap</span>
              </button>
              <button type="button" class="button" onClick={() => go({ compare: null, mode: "diff" })} title="Stop comparing (c)">
                <Icon name="close" size={14} />
                <span>Done</span>
              </button>
            </>
          ) : null}
        </div>
        <div class="sides">
          <SideHead side={made.left} which="left" />
          <SideHead side={made.right} which="right" />
        </div>
      </header>
      <div class="detail-scroll" tabIndex={0} role="region" aria-label="Differences">
        <Counters diff={made.diff} against={null} />
        {made.options.length === 0 ? null : <Options options={made.options} />}
        {changed.length === 0 ? null : (
          <details class="tool-changes">
            <summary>{plural(changed.length, "tool differs", "tools differ")}</summary>
            {changed.map((tool, at) => (
              <ToolCard key={at} tool={tool} />
            ))}
          </details>
        )}
        {made.diff.added + made.diff.deleted === 0 ? <p class="nothing">All messages are the same.</p> : null}
        {mode === "diff" ? (
          <Runs
            key={left + right}
            diff={made.diff}
            sourceOf={(op) => (op === "deleted" ? from.source : to.source)}
            more={(start, count) => source().compareItems(left, right, start, count)}
            sought={route.value.message}
          />
        ) : (
          <SideBySide key={left + right} made={made} left={left} right={right} />
        )}
      </div>
    </div>
  );
}

function SideHead({ side, which }: { side: T.Side; which: "left" | "right" }): JSX.Element {
  return (
    <div class={`side-head side-${which}`}>
      <span class="side-sign" aria-hidden="true">
        {which === "left" ? "−" : "+"}
      </span>
      <div>
        <strong>
          <Name name={side.row.model || "no model"} />
        </strong>
        <span class="quiet-text">
          {sourceNamed(side.source_id)?.name} · {moment(side.row.timestamp_ms)}
          {side.row.duration_ms > 0 ? ` · ${duration(side.row.duration_ms)}` : ""}
        </span>
        <span class="side-gist">
          <Text text={side.row.gist} />
        </span>
      </div>
    </div>
  );
}

function Options({ options }: { options: readonly T.OptionChange[] }): JSX.Element {
  return (
    <table class="plain-table option-table">
      <caption>Settings that differ</caption>
      <tbody>
        {options.map((option) => (
          <tr key={option.name}>
            <th scope="row" class="mono">
              <Text text={option.name} />
            </th>
            <td class="mono count-deleted">{option.left === null ? "not set" : <Text text={option.left.slice(0, 400)} />}</td>
            <td class="mono count-added">{option.right === null ? "not set" : <Text text={option.right.slice(0, 400)} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const AT_ONCE = 200;

function SideBySide({ made, left, right }: { made: T.Compare; left: string; right: string }): JSX.Element {
  const total = made.diff.added + made.diff.deleted + made.diff.unchanged;
  const [items, setItems] = useState<readonly T.DiffItem[]>([]);
  const [problem, setProblem] = useState("");
  const [unfolded, setUnfolded] = useState<string | null>(null);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const readMore = async (): Promise<void> => {
    try {
      setItems([...items, ...(await source().compareItems(left, right, items.length, AT_ONCE)).items]);
    } catch (error) {
      setProblem(asFailure(error).message);
    }
  };
  useEffect(() => void readMore(), []);
  const card = (item: T.DiffItem | null, sourceId: string, key: string): JSX.Element =>
    item === null ? (
      <div class="side-gap" aria-hidden="true" />
    ) : (
      <MessageCard sourceId={sourceId} head={item.message} op={item.op} name={key} unfolded={unfolded} unfold={setUnfolded} />
    );
  const [from, to] = [splitRef(left).source, splitRef(right).source];
  return (
    <>
      {problem === "" ? null : <p role="alert">{problem}</p>}
      <div class="side-by-side">
        {paired(items).map((pair: Pair, at) =>
          pair.kind === "same" ? (
            <Fragment key={at}>
              <button
                type="button"
                class="run-fold side-both"
                aria-expanded={open.has(at)}
                onClick={() => {
                  const next = new Set(open);
                  if (!next.delete(at)) next.add(at);
                  setOpen(next);
                }}
              >
                <Icon name={open.has(at) ? "down" : "right"} size={12} />
                {plural(pair.items.length, "message")} the same on both sides
              </button>
              {open.has(at) ? (
                <div class="side-both cards">
                  {pair.items.map((item, index) => (
                    <Fragment key={index}>{card(item, to, `same-${at}-${index}`)}</Fragment>
                  ))}
                </div>
              ) : null}
            </Fragment>
          ) : (
            <Fragment key={at}>
              {card(pair.left, from, `left-${at}`)}
              {card(pair.right, to, `right-${at}`)}
            </Fragment>
          ),
        )}
      </div>
      {items.length < total && items.length > 0 ? (
        <button type="button" class="run-fold" onClick={() => void readMore()}>
          {plural(total - items.length, "more message")}
        </button>
      ) : null}
    </>
  );
}
