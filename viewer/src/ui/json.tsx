/** JSON as a tree that folds and can be searched. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { indented, parseJson, pathsWith, sizeOf, type JsonNode } from "../model/json.ts";
import { CopyButton } from "./copy.tsx";
import { Icon } from "./icons.tsx";
import { Text } from "./text.tsx";

/** Trees with more values than this are searchable and begin folded. */
const MANY = 30;
const MOST_CHILDREN = 200;

export function Json({ text, label }: { text: string; label: string }): JSX.Element {
  const node = useMemo(() => parseJson(text), [text]);
  const [words, setWords] = useState("");
  const found = useMemo(() => (node === null ? null : pathsWith(node, words)), [node, words]);
  if (node === null || found === null) {
    return (
      <pre class="raw" tabIndex={0} role="group" aria-label={label}>
        <Text text={text} />
      </pre>
    );
  }
  const isBig = sizeOf(node, MANY + 1) > MANY;
  return (
    <div class="json" role="group" aria-label={label}>
      <div class="json-tools">
        {isBig ? (
          <label class="json-search">
            <Icon name="search" size={13} />
            <input type="search" placeholder="Find in JSON" aria-label={`Find in ${label}`} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
            {words === "" ? null : <span class="quiet-text">{found.hits.size}</span>}
          </label>
        ) : null}
        <CopyButton text={() => indented(node)} label="Copy JSON" />
      </div>
      <div class="json-tree">
        <Value node={node} path="" depth={0} name={null} found={found} isBig={isBig} />
      </div>
    </div>
  );
}

interface ValueProps {
  readonly node: JsonNode;
  readonly path: string;
  readonly depth: number;
  readonly name: string | null;
  readonly found: { readonly hits: ReadonlySet<string>; readonly open: ReadonlySet<string> };
  readonly isBig: boolean;
}

function Value({ node, path, depth, name, found, isBig }: ValueProps): JSX.Element {
  const [choice, setChoice] = useState<boolean | null>(null);
  const [most, setMost] = useState(MOST_CHILDREN);
  const key = name === null ? null : (
    <>
      <span class="ink-key">
        <Text text={name} />
      </span>
      <span class="json-mark">: </span>
    </>
  );
  const mark = found.hits.has(path) ? "json-hit" : "";
  if (node.kind !== "object" && node.kind !== "array") {
    return (
      <div class={`json-line ${mark}`}>
        {key}
        <Leaf node={node} />
      </div>
    );
  }
  const children: readonly (readonly [string | null, JsonNode])[] =
    node.kind === "object" ? node.entries : node.items.map((item) => [null, item] as const);
  const [opening, closing] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  if (children.length === 0) {
    return (
      <div class={`json-line ${mark}`}>
        {key}
        <span class="json-mark">{`${opening}${closing}`}</span>
      </div>
    );
  }
  const isOpen = choice ?? (found.open.has(path) || (isBig ? depth < 1 : depth < 4));
  return (
    <div>
      <div class={`json-line ${mark}`}>
        <button type="button" class="json-fold" aria-expanded={isOpen} aria-label={`${name ?? "value"}: ${isOpen ? "fold" : "unfold"}`} onClick={() => setChoice(!isOpen)}>
          <Icon name={isOpen ? "down" : "right"} size={10} />
        </button>
        {key}
        <span class="json-mark">{isOpen ? opening : `${opening} … ${closing}`}</span>
        {isOpen ? null : <span class="quiet-text"> {children.length}</span>}
      </div>
      {isOpen ? (
        <>
          <div class="json-children">
            {children.slice(0, most).map(([childName, child], at) => (
              <Value key={at} node={child} path={`${path}.${at}`} depth={depth + 1} name={childName} found={found} isBig={isBig} />
            ))}
            {children.length > most ? (
              <button type="button" class="button quiet small" onClick={() => setMost(most + 1000)}>
                {children.length - most} more
              </button>
            ) : null}
          </div>
          <div class="json-line json-mark">{closing}</div>
        </>
      ) : null}
    </div>
  );
}

function Leaf({ node }: { node: Extract<JsonNode, { text: string }> }): JSX.Element {
  if (node.kind !== "string") return <span class={node.kind === "number" ? "ink-number" : "ink-keyword"}>{node.text}</span>;
  return (
    <span class="ink-string json-string">
      "<Text text={node.text.length > 20_000 ? `${node.text.slice(0, 20_000)}…` : node.text} />"
    </span>
  );
}
