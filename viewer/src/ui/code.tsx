import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { highlight } from "../model/highlight.ts";
import { CopyButton } from "./copy.tsx";
import { Text } from "./text.tsx";

/** Code in colours, with its language and a button to copy it. */
export function Code({ text, language }: { text: string; language: string }): JSX.Element {
  const spans = useMemo(() => highlight(text, language), [text, language]);
  return (
    <div class="code">
      <div class="code-head">
        <span>{language || "text"}</span>
        <CopyButton text={() => text} label="Copy code" />
      </div>
      <pre tabIndex={0} role="group" aria-label={`code, ${language || "text"}`}>
        <code>
          {spans.map((span, at) =>
            span.ink === "plain" ? (
              <Text key={at} text={span.text} />
            ) : (
              <span key={at} class={`ink-${span.ink}`}>
                <Text text={span.text} />
              </span>
            ),
          )}
        </code>
      </pre>
    </div>
  );
}
