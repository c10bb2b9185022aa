/** The tools a request offers: what each does, its schema on demand, what is new against the parent. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { beginning, isLong } from "../../model/folding.ts";
import { useLoad } from "../../state/load.ts";
import { rowWord, source } from "../../state/session.ts";
import { Badge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Json } from "../../ui/json.tsx";
import { Empty, Failed, Waiting } from "../../ui/states.tsx";
import { Name, Text } from "../../ui/text.tsx";

/** Descriptions over ten lines are folded [trace-and-cook, section 11]. */
const LINES = 10;

export function ToolsTab({ view }: { view: T.RowView }): JSX.Element {
  const loaded = useLoad(`tools/${view.source_id}/${view.row.id}@${view.version}`, () => source().tools(view.source_id, view.row.id));
  const [words, setWords] = useState("");
  if (loaded.failure !== null) return <Failed title="The tools could not be loaded" reason={loaded.failure.message} again={loaded.again} />;
  if (loaded.value === null) return <Waiting label="Loading the tools…" />;
  const { tools } = loaded.value;
  if (tools.length === 0) {
    return (
      <Empty icon="tool" title="No tools">
        <p>This {rowWord.value} offered the model no tools.</p>
      </Empty>
    );
  }
  const wanted = words.toLowerCase();
  const found = tools.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(wanted));
  return (
    <div class="tools">
      {tools.length > 8 ? (
        <label class="field tools-search">
          <Icon name="search" size={14} />
          <input type="search" placeholder={`Find among ${tools.length} tools`} aria-label="Find a tool" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
      ) : null}
      {found.map((tool, at) => (
        <ToolCard key={`${tool.id}-${at}`} tool={tool} />
      ))}
      {found.length === 0 ? <p class="nothing">No tool has “{words}”.</p> : null}
    </div>
  );
}

export function ToolCard({ tool }: { tool: T.Tool }): JSX.Element {
  const [isUnfolded, setUnfolded] = useState(false);
  const [isSchema, setSchema] = useState(false);
  const isFoldable = isLong(tool.description, LINES, 1200);
  const change = { unchanged: "unchanged", added: "added", removed: "deleted" }[tool.change];
  return (
    <article class={`card tool op-${change}`}>
      <header class="card-head">
        {tool.change === "unchanged" ? null : (
          <span class="card-op" role="img" aria-label={tool.change}>
            {tool.change === "added" ? "+" : "−"}
          </span>
        )}
        <h3 class="mono tool-name">
          <Name name={tool.name} />
        </h3>
        {tool.is_server_side ? <Badge tone="accent">server side</Badge> : null}
        <span class="grow" />
        <button type="button" class="button quiet small" aria-expanded={isSchema} onClick={() => setSchema(!isSchema)}>
          {isSchema ? "Hide schema" : "Schema"}
        </button>
      </header>
      <div class="card-body">
        {tool.description === "" ? (
          <span class="nothing">no description</span>
        ) : (
          <div class={`words ${isFoldable && !isUnfolded ? "folded" : ""}`}>
            <Text text={isFoldable && !isUnfolded ? beginning(tool.description, LINES, 1200) : tool.description} />
          </div>
        )}
        {isFoldable ? (
          <button type="button" class="fold" aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
            <Icon name={isUnfolded ? "up" : "down"} size={12} />
            {isUnfolded ? "Fold" : "Show all"}
          </button>
        ) : null}
        {isSchema ? <Json text={tool.parameters} label={`schema of ${tool.name}`} /> : null}
      </div>
    </article>
  );
}
