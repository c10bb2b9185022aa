/** A message as a card: its role, what it says, what it calls; long ones folded. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { DiffOp, Message, MessageHead } from "../api/types.gen.ts";
import { beginning, isLong } from "../model/folding.ts";
import { bytes, grouped } from "../model/times.ts";
import { FOLDED, message as messageOf, UNFOLDED } from "../state/messages.ts";
import { asFailure, source } from "../state/session.ts";
import { Badge } from "../ui/badge.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Icon } from "../ui/icons.tsx";
import { Name, Text } from "../ui/text.tsx";
import { useNear } from "../ui/visible.ts";
import { Attachment } from "./attachment.tsx";
import { Calls } from "./calls.tsx";
import { ROLE_NAMES } from "./roles.ts";
import { Words } from "./words.tsx";

export interface CardProps {
  readonly sourceId: string;
  readonly head: MessageHead;
  readonly op?: DiffOp;
  /** Always in full: the answer of a request. */
  readonly isOpen?: boolean;
  /** Which card is unfolded, and how to say so: one at a time. */
  readonly unfolded?: string | null;
  readonly unfold?: (key: string | null) => void;
  /** This card's own key; a message may be there twice. */
  readonly name?: string;
  readonly isSought?: boolean;
  /** Among the first of its list, so surely on the screen: asked for without looking. */
  readonly isFirst?: boolean;
  readonly children?: ComponentChildren;
}

export function MessageCard(props: CardProps): JSX.Element {
  const { head, sourceId, op } = props;
  const box = useRef<HTMLElement>(null);
  const isNear = useNear(box, props.isFirst === true);
  const name = props.name ?? head.id;
  const isUnfolded = props.isOpen === true || props.unfolded === name;
  useEffect(() => {
    if (props.isSought) box.current?.scrollIntoView({ block: "start" });
  }, [props.isSought]);
  const sign = op === "added" ? "+" : op === "deleted" ? "−" : null;
  return (
    <article ref={box} class={`card role-${head.role} ${op === undefined ? "" : `op-${op}`} ${props.isSought ? "is-sought" : ""}`} data-message={head.id}>
      <header class="card-head">
        {sign === null ? null : (
          <span class="card-op" role="img" aria-label={op}>
            {sign}
          </span>
        )}
        <span class="card-role">{ROLE_NAMES[head.role] ?? head.role}</span>
        {head.calls.length === 0 ? null : (
          <span class="card-calls">
            {head.calls.slice(0, 6).map((call, at) => (
              <span key={at} class="mono"><Name name={call} /></span>
            ))}
          </span>
        )}
        {head.role === "tool_result" ? <Badge tone={head.is_error ? "bad" : "good"}>{head.is_error ? "error" : "success"}</Badge> : null}
        {head.tool_use_id === null ? null : (
          <span class="id" title="the call that this answers">
            <Text text={head.tool_use_id} />
          </span>
        )}
        <span class="card-size">{head.size > 500 ? `${grouped(head.size)} characters` : ""}</span>
        <span class="card-tools">
          {props.children}
          <CopyButton text={() => wholeText(sourceId, head.id)} label="Copy message" />
        </span>
      </header>
      {isNear || isUnfolded ? (
        <Body {...props} isUnfolded={isUnfolded} name={name} />
      ) : (
        <div class="card-body card-ghost" aria-hidden="true">
          {head.gist}
        </div>
      )}
    </article>
  );
}

/** All of a message's text: what was said, or what was called. */
async function wholeText(sourceId: string, id: string): Promise<string> {
  const { messages } = await source().messages(sourceId, [id], UNFOLDED);
  const message = messages[0];
  if (message === undefined) return "";
  let text = message.content;
  if (message.is_cut) {
    text = "";
    for (let start: number | null = 0; start !== null; ) {
      const range = await source().content(sourceId, id, start, 1_048_576, "content");
      text += range.text;
      start = range.next;
    }
  }
  const calls = message.tool_calls.map((call) => `${call.name}(${call.arguments})`);
  return [...(text === "" ? [] : [text]), ...calls].join("\n");
}

function Body({ sourceId, head, isUnfolded, unfold, name, isOpen }: CardProps & { isUnfolded: boolean; name: string }): JSX.Element {
  const body = useMemo(() => messageOf(sourceId, head.id, isUnfolded ? UNFOLDED : FOLDED), [sourceId, head.id, isUnfolded]);
  const { message, failure } = body.value;
  if (failure !== null) return <div class="card-body card-failure" role="alert">{failure}</div>;
  if (message === null) return <div class="card-body card-ghost" aria-busy="true">{head.gist}</div>;
  const isFoldable = message.is_cut || isLong(message.content);
  const hasText = message.content !== "" || (message.tool_calls.length === 0 && message.blobs.length === 0);
  const shown = isFoldable && !isUnfolded ? beginning(message.content) : message.content;
  return (
    <div class="card-body">
      {hasText ? (
        <div class={isFoldable && !isUnfolded ? "folded" : undefined}>
          {message.content === "" ? <span class="nothing">empty</span> : <Words text={shown} role={message.role} isWhole={!message.is_cut && shown === message.content} />}
        </div>
      ) : null}
      {isUnfolded && message.is_cut ? <ReadOn sourceId={sourceId} message={message} /> : null}
      {isFoldable && unfold !== undefined && isOpen !== true ? (
        <button type="button" class="fold" aria-expanded={isUnfolded} onClick={() => unfold(isUnfolded ? null : name)}>
          <Icon name={isUnfolded ? "up" : "down"} size={12} />
          {isUnfolded ? "Fold" : `Show all · ${message.size > 20_000 ? bytes(message.size) : `${grouped(message.size)} characters`}, ${grouped(head.lines)} ${head.lines === 1 ? "line" : "lines"}`}
        </button>
      ) : null}
      {message.tool_calls.length === 0 ? null : <Calls sourceId={sourceId} messageId={message.id} calls={message.tool_calls} />}
      {message.blobs.map((blob) => (
        <Attachment key={blob.id} sourceId={sourceId} blob={blob} />
      ))}
    </div>
  );
}

/** The rest of a very long text, a piece at a time: five megabytes at once would stop any page. */
function ReadOn({ sourceId, message }: { sourceId: string; message: Message }): JSX.Element | null {
  const [rest, setRest] = useState<readonly string[]>([]);
  const [at, setAt] = useState<number | null>(characters(message.content));
  const [problem, setProblem] = useState("");
  useEffect(() => {
    setRest([]);
    setAt(characters(message.content));
  }, [message]);
  const more = async (): Promise<void> => {
    if (at === null) return;
    try {
      const range = await source().content(sourceId, message.id, at, 262_144, "content");
      setRest([...rest, range.text]);
      setAt(range.next);
      setProblem("");
    } catch (error) {
      setProblem(asFailure(error).message);
    }
  };
  return (
    <>
      {rest.map((text, index) => (
        <Words key={index} text={text} role="tool_result" isWhole={false} />
      ))}
      {problem === "" ? null : <p role="alert">{problem}</p>}
      {at === null ? null : (
        <button type="button" class="fold" onClick={() => void more()}>
          <Icon name="down" size={12} />
          Read on · {bytes(Math.max(0, message.size - at))} more
        </button>
      )}
    </>
  );
}

/** Places in a text are counted in characters by the server, in UTF-16 units by the browser. */
function characters(text: string): number {
  let found = 0;
  for (const _ of text) found += 1;
  return found;
}
