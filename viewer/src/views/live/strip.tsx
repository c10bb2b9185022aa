/** Answers that are arriving right now, below the list: they have no row until they are complete. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { duration } from "../../model/times.ts";
import { roleOf, type LiveExchange } from "../../model/answers.ts";
import { ROLE_NAMES } from "../../parts/roles.ts";
import { exchanges } from "../../state/live.ts";
import { select } from "../../state/selection.ts";
import { Text } from "../../ui/text.tsx";

const MOST = 4;

export function LiveStrip({ sourceId }: { sourceId: string }): JSX.Element | null {
  const now = [...exchanges.value.values()].filter((each) => each.source_id === sourceId && (each.row_id === null || each.state === "live"));
  if (now.length === 0) return null;
  return (
    <section class="live-strip" aria-label="Arriving now" aria-live="off">
      {now.slice(-MOST).map((each) => (
        <Arriving key={each.id} exchange={each} />
      ))}
      {now.length > MOST ? <p class="quiet-text">and {now.length - MOST} more</p> : null}
    </section>
  );
}

function Arriving({ exchange }: { exchange: LiveExchange }): JSX.Element {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const last = exchange.answer.at(-1);
  const row = exchange.row_id;
  return (
    <article class="arriving" data-exchange={exchange.id}>
      <header>
        <span class="live-dot" aria-hidden="true" />
        <span class="row-model">{exchange.model}</span>
        <span class="row-gist">
          <Text text={exchange.gist} />
        </span>
        <span class="quiet-text">{duration(Math.max(0, now - exchange.timestamp_ms))}</span>
        {row === null ? null : (
          <button type="button" class="button quiet small" onClick={() => select(row, "push")}>
            open
          </button>
        )}
      </header>
      {last === undefined ? null : (
        <p class={`arriving-text role-${roleOf(last.kind)}`}>
          <span class="role-name">{ROLE_NAMES[roleOf(last.kind)].toLowerCase()}</span> <Text text={`${last.name === null ? "" : `${last.name} `}${last.text.slice(-400)}`} />
          <span class="caret" aria-hidden="true" />
        </p>
      )}
    </article>
  );
}
