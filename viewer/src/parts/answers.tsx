/** An answer while it arrives: pieces by kind, in order. */

import type { JSX } from "preact";
import { memo } from "./memo.ts";
import type { Answer } from "../api/types.gen.ts";
import { roleOf } from "../model/answers.ts";
import { Name, Text } from "../ui/text.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { isMarkdown } from "../model/markdown.ts";
import { ROLE_NAMES } from "./roles.ts";

export function Answers({ answer, isLive }: { answer: readonly Answer[]; isLive: boolean }): JSX.Element {
  return (
    <>
      {answer.length === 0 && isLive ? <p class="nothing">Waiting for the first words…</p> : null}
      {answer.map((piece, at) => (
        <Piece key={at} kind={piece.kind} name={piece.name} text={piece.text} isLive={isLive && at === answer.length - 1} />
      ))}
    </>
  );
}

const Piece = memo(function Piece({ kind, name, text, isLive }: Answer & { isLive: boolean }): JSX.Element {
  const role = roleOf(kind);
  return (
    <article class={`card role-${role} ${isLive ? "is-live" : ""}`}>
      <header class="card-head">
        <span class="card-role">{kind === "refusal" ? "Refusal" : ROLE_NAMES[role]}</span>
        {name === null ? null : (
          <strong class="mono">
            <Name name={name} />
          </strong>
        )}
      </header>
      <div class="card-body">
        {role === "assistant" && !isLive && isMarkdown(text) ? (
          <Markdown text={text} />
        ) : (
          <div class={`words ${role === "tool_use" ? "words-mono" : ""}`}>
            <Text text={text} />
            {isLive ? <span class="caret" aria-hidden="true" /> : null}
          </div>
        )}
      </div>
    </article>
  );
});
