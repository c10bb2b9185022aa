/** The head of one request or turn: who, when, how long, how much; and what can be done with it. */

import type { JSX } from "preact";
import type * as T from "../../api/types.gen.ts";
import { count, duration, grouped, isSlow, moment, money, percent, plural } from "../../model/times.ts";
import { ROLE_NAMES } from "../../parts/roles.ts";
import { go, route } from "../../state/place.ts";
import { overlay, say } from "../../state/prefs.ts";
import { isPinned, select, toggleCompare } from "../../state/selection.ts";
import { source, sourceNamed, sourceList } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { putOnClipboard } from "../../ui/copy.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Name, Text } from "../../ui/text.tsx";

export function Head({ view }: { view: T.RowView }): JSX.Element {
  const { row, header } = view;
  const isTurn = sourceNamed(view.source_id)?.kind === "threads";
  return (
    <header class="detail-head">
      <div class="detail-line">
        <button type="button" class="button quiet back" onClick={() => go({ row: null, message: null })} aria-label="Back to the list">
          <Icon name="back" />
        </button>
        <h1 class="detail-title">{row.model === "" ? (isTurn ? `${ROLE_NAMES[row.role] ?? "A"} turn` : "Request") : <Name name={row.model} />}</h1>
        {row.provider === "" ? null : <Badge>{row.provider}</Badge>}
        {row.bookmarks.map((name) => (
          <Badge key={name} tone="accent">
            <Text text={name} />
          </Badge>
        ))}
        <StateBadge row={row} header={header} />
        <span class="grow" />
        <Actions view={view} />
      </div>
      <dl class="facts">
        <Fact name="at">{moment(row.timestamp_ms)}</Fact>
        {row.duration_ms > 0 || !isTurn ? (
          <Fact name="took">
            <span class={isSlow(row.duration_ms) ? "is-slow" : undefined}>{duration(row.duration_ms)}</span>
          </Fact>
        ) : null}
        <UsageFacts usage={header.usage} />
        {header.stop_reason === null ? null : (
          <Fact name="stopped by">
            <Text text={header.stop_reason} />
          </Fact>
        )}
        <Family view={view} />
      </dl>
      {header.error === null ? null : (
        <p class="banner banner-bad" role="note">
          <Icon name="warn" size={14} />
          <span>
            <Text text={header.error} />
          </span>
        </p>
      )}
      {header.cache_miss === null ? null : <Miss miss={header.cache_miss} />}
    </header>
  );
}

export function StateBadge({ row, header }: { row: T.GraphRow; header: T.RowHeader }): JSX.Element | null {
  const status = header.status === null ? "" : ` ${header.status}`;
  if (row.state === "failed") return <Badge tone="bad">failed{status}</Badge>;
  if (row.state === "incomplete") return <Badge tone="warn">cut short</Badge>;
  if (row.state === "live") return <Badge tone="accent">live</Badge>;
  return header.status === null ? null : <Badge tone="good">{header.status}</Badge>;
}

export function Fact({ name, children }: { name: string; children: preact.ComponentChildren }): JSX.Element {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function UsageFacts({ usage }: { usage: T.Usage | null }): JSX.Element | null {
  if (usage === null) return null;
  const { input_tokens: input, cached_tokens: cached, output_tokens: output, reasoning_tokens: reasoning } = usage;
  return (
    <>
      {input === null ? null : (
        <Fact name="in">
          <span title={`${grouped(input)} tokens`}>{count(input)}</span>
          {cached === null || input === 0 ? null : <span class="quiet-text" title={`${grouped(cached)} of them from the cache`}> {percent(cached, input)} cached</span>}
        </Fact>
      )}
      {output === null ? null : (
        <Fact name="out">
          <span title={`${grouped(output)} tokens`}>{count(output)}</span>
          {reasoning === null || reasoning === 0 ? null : <span class="quiet-text"> {count(reasoning)} thinking</span>}
        </Fact>
      )}
      {usage.cost_usd === null ? null : <Fact name="cost">{money(usage.cost_usd)}</Fact>}
    </>
  );
}

function Family({ view }: { view: T.RowView }): JSX.Element | null {
  if (view.against_id === null && view.children.length === 0) return null;
  return (
    <div class="fact">
      <dt>continues</dt>
      <dd>
        {view.against_id === null ? (
          "nothing"
        ) : (
          <button type="button" class="link" onClick={() => select(view.against_id as string, "push")} title="Go to the one before (p)">
            parent
          </button>
        )}
        {view.children.length === 0 ? null : (
          <>
            <span class="quiet-text"> · </span>
            {view.children.slice(0, 5).map((id, at) => (
              <button key={id} type="button" class="link" onClick={() => select(id, "push")} title="Go to what continues this">
                {view.children.length === 1 ? "child" : `child ${at + 1}`}
              </button>
            ))}
            {view.children.length > 5 ? <span class="quiet-text"> of {plural(view.children.length, "child", "children")}</span> : null}
          </>
        )}
      </dd>
    </div>
  );
}

function Actions({ view }: { view: T.RowView }): JSX.Element {
  const copyAs = (as: "curl" | "python" | "json") => async (): Promise<void> => {
    try {
      const done = await putOnClipboard(await source().copy(view.source_id, view.row.id, as));
      say(done ? `Copied as ${{ curl: "curl", python: "Python", json: "JSON" }[as]}` : "The browser did not let us copy");
    } catch (error) {
      say(error instanceof Error ? error.message : "It could not be copied");
    }
  };
  const copyLink = async (): Promise<void> => {
    const address = new URL(location.href);
    say((await putOnClipboard(address.href)) ? "Copied the link" : "The browser did not let us copy");
  };
  const isComparing = route.value.compare !== null;
  return (
    <div class="actions">
      {view.can_fork && source().abilities.run && sourceList.value?.run_source_id ? (
        <button
          type="button"
          class="button"
          title="Fork and run (f)"
          onClick={() => {
            overlay.value = "fork";
          }}
        >
          <Icon name="fork" size={14} />
          <span>Fork</span>
        </button>
      ) : null}
      {source().exported === null ? (
        <button type="button" class={`button ${isComparing ? "is-on" : ""}`} aria-pressed={isComparing} title="Compare with another (c)" onClick={toggleCompare}>
          <Icon name="compare" size={14} />
          <span>{isPinned(view.source_id, view.row.id) ? "Pinned" : "Compare"}</span>
        </button>
      ) : null}
      {source().abilities.copy ? (
        <Menu
          title="Copy as"
          label={
            <>
              <Icon name="copy" size={14} />
              <span>Copy</span>
            </>
          }
          items={[
            { label: "Copy as curl", run: () => void copyAs("curl")() },
            { label: "Copy as Python", run: () => void copyAs("python")() },
            { label: "Copy as JSON", run: () => void copyAs("json")() },
            { label: "Copy link", detail: "y", run: () => void copyLink() },
          ]}
        />
      ) : null}
    </div>
  );
}

function Miss({ miss }: { miss: T.CacheMiss }): JSX.Element {
  return (
    <p class="banner banner-warn" role="note">
      <Icon name="warn" size={14} />
      <span>
        Prompt cache missed: <Text text={miss.detail} />
        {miss.message_id === null ? null : (
          <>
            {" "}
            <button type="button" class="link" onClick={() => go({ message: miss.message_id, tab: "messages" }, "replace")}>
              show where
            </button>
          </>
        )}
      </span>
    </p>
  );
}
