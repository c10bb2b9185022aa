/** The tool calls of a message: name, id, and arguments one can read. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ToolCall } from "../api/types.gen.ts";
import { bytes } from "../model/times.ts";
import { source } from "../state/session.ts";
import { Badge } from "../ui/badge.tsx";
import { Icon } from "../ui/icons.tsx";
import { Json } from "../ui/json.tsx";
import { Name, Text } from "../ui/text.tsx";

export function Calls({ sourceId, messageId, calls }: { sourceId: string; messageId: string; calls: readonly ToolCall[] }): JSX.Element {
  return (
    <>
      {calls.map((call, at) => (
        <Call key={at} sourceId={sourceId} messageId={messageId} at={at} call={call} />
      ))}
    </>
  );
}

function Call({ sourceId, messageId, at, call }: { sourceId: string; messageId: string; at: number; call: ToolCall }): JSX.Element {
  const [whole, setWhole] = useState<string | null>(null);
  const readAll = async (): Promise<void> => {
    let text = "";
    for (let start: number | null = 0; start !== null; ) {
      const range = await source().content(sourceId, messageId, start, 262_144, `call-${at}`);
      text += range.text;
      start = range.next;
    }
    setWhole(text);
  };
  return (
    <div class="call">
      <div class="call-head">
        <Icon name="tool" size={13} />
        <strong class="mono">
          <Name name={call.name} />
        </strong>
        {call.id === null ? null : (
          <span class="id">
            <Text text={call.id} />
          </span>
        )}
        {call.is_cut && whole === null ? (
          <button type="button" class="button quiet small" onClick={() => void readAll()}>
            Show all {bytes(call.size)}
          </button>
        ) : null}
      </div>
      {call.arguments === "{}" ? <Badge tone="quiet">no arguments</Badge> : <Json text={whole ?? call.arguments} label={`arguments of ${call.name}`} />}
    </div>
  );
}
