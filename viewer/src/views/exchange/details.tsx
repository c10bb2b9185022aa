/** Everything else that is known of a request or turn: settings, usage, names. */

import type { JSX } from "preact";
import type * as T from "../../api/types.gen.ts";
import { duration, grouped, moment, money, percent } from "../../model/times.ts";
import { go } from "../../state/place.ts";
import { sourceList, sourceNamed } from "../../state/session.ts";
import { Json } from "../../ui/json.tsx";
import { Text } from "../../ui/text.tsx";

export function Details({ view }: { view: T.RowView }): JSX.Element {
  const { row, header } = view;
  const isTurn = sourceNamed(view.source_id)?.kind === "threads";
  const usage = header.usage;
  const threads = sourceList.value?.sources.find((each) => each.kind === "threads");
  return (
    <div class="details">
      <section>
        <h2 class="section-title">{isTurn ? "Options of the thread" : "Settings"}</h2>
        {header.options === "" || header.options === "{}" ? <p class="nothing">None were set.</p> : <Json text={header.options} label={isTurn ? "options" : "settings"} />}
      </section>
      {usage === null ? null : (
        <section>
          <h2 class="section-title">Usage</h2>
          <table class="plain-table">
            <tbody>
              <Line name="Input tokens" value={usage.input_tokens} />
              <Line name="of them from the cache" value={usage.cached_tokens} more={usage.cached_tokens !== null && usage.input_tokens ? percent(usage.cached_tokens, usage.input_tokens) : ""} />
              <Line name="written to the cache" value={usage.cache_write_tokens} />
              <Line name="Output tokens" value={usage.output_tokens} />
              <Line name="of them thinking" value={usage.reasoning_tokens} />
              <tr>
                <th scope="row">Cost</th>
                <td>{usage.cost_usd === null ? "not known" : money(usage.cost_usd)}</td>
                <td />
              </tr>
            </tbody>
          </table>
        </section>
      )}
      <section>
        <h2 class="section-title">Facts</h2>
        <table class="plain-table">
          <tbody>
            <Fact name={isTurn ? "Turn" : "Record"} value={row.record_id} />
            <Fact name="Endpoint" value={header.endpoint} />
            <Fact name="Status" value={header.status === null ? "" : String(header.status)} />
            <Fact name="Time" value={moment(row.timestamp_ms)} />
            <Fact name="Duration" value={duration(row.duration_ms)} />
            <Fact name="Stopped by" value={header.stop_reason ?? ""} />
            <Fact name="Provider" value={row.provider} />
            <Fact name="Bookmarks" value={row.bookmarks.join(", ")} />
            {header.turn_id === null || threads === undefined || isTurn ? null : (
              <tr>
                <th scope="row">Caused by</th>
                <td>
                  <button type="button" class="link" onClick={() => go({ source: threads.id, row: header.turn_id, tree: null, tab: "messages" })}>
                    turn <Text text={header.turn_id} />
                  </button>
                </td>
                <td />
              </tr>
            )}
          </tbody>
        </table>
      </section>
    </div>
  );
}

function Line({ name, value, more = "" }: { name: string; value: number | null; more?: string }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">{value === null ? <span class="quiet-text">not said</span> : grouped(value)}</td>
      <td class="quiet-text">{more}</td>
    </tr>
  );
}

function Fact({ name, value }: { name: string; value: string }): JSX.Element | null {
  if (value === "") return null;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="mono">
        <Text text={value} />
      </td>
      <td />
    </tr>
  );
}
