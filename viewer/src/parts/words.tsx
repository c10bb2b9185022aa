/** The text of a message: as Markdown, as JSON, or as it is. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Role } from "../api/types.gen.ts";
import { pieces } from "../model/folding.ts";
import { parseJson } from "../model/json.ts";
import { isMarkdown } from "../model/markdown.ts";
import { asMarkdown } from "../state/prefs.ts";
import { Json } from "../ui/json.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { Text } from "../ui/text.tsx";

/** Longer JSON is shown as text: a tree of a megabyte helps nobody and takes seconds. */
const MOST_JSON = 200_000;

export function Words({ text, role, isWhole }: { text: string; role: Role; isWhole: boolean }): JSX.Element {
  const isTool = role === "tool_result";
  const isJson = useMemo(() => isWhole && looksLikeJson(text), [text, isWhole]);
  if (isJson && asMarkdown.value) return <Json text={text} label="message" />;
  if (!isTool && asMarkdown.value && isMarkdown(text)) return <Markdown text={text} />;
  return (
    <div class={`words ${isTool ? "words-mono" : ""}`}>
      {text.length <= 20_000 ? <Text text={text} /> : pieces(text).map((piece, at) => <div key={at} class="piece"><Text text={piece} /></div>)}
    </div>
  );
}

function looksLikeJson(text: string): boolean {
  return text.length <= MOST_JSON && /^\s*[[{]/.test(text) && /[\]}]\s*$/.test(text) && parseJson(text) !== null;
}
