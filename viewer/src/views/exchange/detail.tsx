/** One request or turn in full: head, messages against its parent, tools, details. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { plural } from "../../model/times.ts";
import { MessageCard } from "../../parts/message.tsx";
import { Answers } from "../../parts/answers.tsx";
import { exchanges, versions } from "../../state/live.ts";
import { useLoad } from "../../state/load.ts";
import { go, route } from "../../state/place.ts";
import { select, selected } from "../../state/selection.ts";
import { rowWord, shown, source } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Empty, Failed, Waiting } from "../../ui/states.tsx";
import { TabPanel, Tabs } from "../../ui/tabs.tsx";
import { Text } from "../../ui/text.tsx";
import { Compared } from "../compare/compared.tsx";
import { Head } from "./header.tsx";
import { Counters, Runs } from "./runs.tsx";
import { ToolsTab } from "./tools.tsx";
import { Details } from "./details.tsx";
import "./exchange.css";

export function DetailPane(): JSX.Element {
  const from = shown.value;
  const row = selected.value;
  const compare = route.value.compare;
  if (from === null || row === null) {
    return (
      <Empty icon="tree" title={`No ${rowWord.value} selected`}>
        <p>Choose one on the left.</p>
      </Empty>
    );
  }
  if (compare !== null && compare !== `${from.id}:${row}`) return <Compared left={compare} right={`${from.id}:${row}`} />;
  return <DetailOf sourceId={from.id} row={row} isWaitingForOther={compare !== null} />;
}

function DetailOf({ sourceId, row, isWaitingForOther }: { sourceId: string; row: string; isWaitingForOther: boolean }): JSX.Element {
  const version = versions.value.get(sourceId) ?? 0;
  const tree = route.value.tree;
  const loaded = useLoad(`${sourceId}/${row}/${tree ?? ""}@${version}`, () => source().row(sourceId, row, tree));
  // Going from row to row, what is shown stays until the next is here: an empty page in between would flicker.
  const kept = useRef<T.RowView | null>(null);
  if (loaded.value !== null) kept.current = loaded.value;
  if (loaded.failure !== null && loaded.value === null) {
    return <Failed title={`This ${rowWord.value} could not be loaded`} reason={loaded.failure.message} again={loaded.again} />;
  }
  const view = loaded.value ?? (kept.current?.source_id === sourceId ? kept.current : null);
  if (view === null) return <Waiting label="Loading…" />;
  const tab = route.value.tab;
  return (
    <div class="detail" key={view.row.id} data-row={view.row.id} aria-busy={view !== loaded.value}>
      <Head view={view} />
      {isWaitingForOther ? (
        <p class="banner banner-accent" role="status">
          <span>Pinned for comparison. Now choose another {rowWord.value}; any source will do.</span>
        </p>
      ) : null}
      <Tabs
        name="Parts of it"
        tabs={[
          { id: "messages", label: "Messages" },
          { id: "tools", label: <ToolsLabel view={view} /> },
          { id: "details", label: "Details" },
        ]}
        chosen={tab}
        choose={(id) => go({ tab: id }, "replace")}
      />
      <div class="detail-scroll" tabIndex={0} role="region" aria-label="Contents">
        <TabPanel name="Parts of it" chosen={tab}>
          {tab === "messages" ? <Messages view={view} /> : null}
          {tab === "tools" ? <ToolsTab view={view} /> : null}
          {tab === "details" ? <Details view={view} /> : null}
        </TabPanel>
      </div>
    </div>
  );
}

function ToolsLabel({ view }: { view: T.RowView }): JSX.Element {
  return (
    <>
      Tools <Badge tone="quiet">{view.tools}</Badge>
      {view.tools_added > 0 ? <span class="count-added">+{view.tools_added}</span> : null}
      {view.tools_removed > 0 ? <span class="count-deleted">−{view.tools_removed}</span> : null}
    </>
  );
}

function Messages({ view }: { view: T.RowView }): JSX.Element {
  const { source_id: sourceId, row, diff, response } = view;
  const sought = route.value.message;
  const live = [...exchanges.value.values()].find((each) => each.row_id === row.id && each.state === "live");
  const against =
    view.against_id === null ? (
      <span class="quiet-text">nothing before it</span>
    ) : (
      <span class="quiet-text">
        since its{" "}
        <button type="button" class="link" onClick={() => select(view.against_id as string, "push")}>
          parent
        </button>
      </span>
    );
  return (
    <>
      <Counters diff={diff} against={against} />
      {diff.runs.length === 0 ? <p class="nothing">No messages in this {rowWord.value}.</p> : null}
      <Runs key={row.id} diff={diff} sourceOf={() => sourceId} more={(start, count) => source().diffItems(sourceId, row.id, start, count)} sought={sought} />
      {response.length === 0 && live === undefined ? null : (
        <section class="response" aria-label="Response">
          <h2 class="section-title">
            Response
            <span class="quiet-text">{response.length > 1 ? plural(response.length, "message") : ""}</span>
          </h2>
          <div class="cards">
            {response.map((head, at) => (
              <MessageCard key={`${at}-${head.id}`} sourceId={sourceId} head={head} isOpen isSought={sought === head.id} />
            ))}
            {live === undefined ? null : <Answers answer={live.answer} isLive />}
          </div>
        </section>
      )}
      {row.record_id === "" ? null : (
        <p class="record-id">
          <Text text={row.record_id} />
        </p>
      )}
    </>
  );
}
