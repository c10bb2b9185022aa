/**
 * Markdown as nodes of the page. Every node is built here, from a fixed list of kinds; text is only ever text, so nothing a
 * model writes can become an element, an attribute or an address we did not mean [C-56, W-07, W-08].
 */

import { Fragment, h, type ComponentChildren, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { parse, type Block, type Cell, type Inline } from "../model/markdown.ts";
import { Code } from "./code.tsx";
import { Text } from "./text.tsx";

export function Markdown({ text }: { text: string }): JSX.Element {
  const blocks = useMemo(() => parse(text), [text]);
  return <div class="markdown">{blocks.map((block, at) => drawBlock(block, at))}</div>;
}

function drawBlock(block: Block, key: number): JSX.Element {
  switch (block.kind) {
    case "paragraph":
      return <p key={key}>{drawAll(block.inside)}</p>;
    case "heading":
      // The page has headings of its own; those of a message come below them.
      return h(`h${Math.min(6, block.level + 2)}`, { key, class: `heading-${block.level}` }, drawAll(block.inside));
    case "code":
      return <Code key={key} text={block.text} language={block.language} />;
    case "quote":
      return <blockquote key={key}>{block.blocks.map(drawBlock)}</blockquote>;
    case "list": {
      const items = block.items.map((item, at) => (
        <li key={at} class={item.checked === null ? undefined : "task"}>
          {item.checked === null ? null : <span class="box" role="img" aria-label={item.checked ? "done" : "to do"}>{item.checked ? "☑" : "☐"}</span>}
          {item.blocks.map((inner, index) => drawItem(inner, index))}
        </li>
      ));
      return block.ordered ? <ol key={key} start={block.start}>{items}</ol> : <ul key={key}>{items}</ul>;
    }
    case "table":
      return (
        <div key={key} class="table-box" tabIndex={0} role="group" aria-label="table">
          <table>
            <thead>
              <tr>{block.head.map((cell, at) => <th key={at} scope="col" class={alignOf(cell)}>{drawAll(cell.inside)}</th>)}</tr>
            </thead>
            <tbody>
              {block.rows.map((row, at) => (
                <tr key={at}>{row.map((cell, index) => <td key={index} class={alignOf(cell)}>{drawAll(cell.inside)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "rule":
      return <hr key={key} />;
  }
}

/** In a tight list a paragraph is just its text. */
function drawItem(block: Block, key: number): JSX.Element {
  return block.kind === "paragraph" ? <Fragment key={key}>{drawAll(block.inside)}</Fragment> : drawBlock(block, key);
}

function alignOf(cell: Cell): string | undefined {
  return cell.align === null ? undefined : `align-${cell.align}`;
}

function drawAll(inside: readonly Inline[]): ComponentChildren {
  return inside.map(drawInline);
}

function drawInline(piece: Inline, key: number): JSX.Element {
  switch (piece.kind) {
    case "text":
      return <Text key={key} text={piece.text} />;
    case "code":
      return (
        <code key={key}>
          <Text text={piece.text} />
        </code>
      );
    case "strong":
      return <strong key={key}>{drawAll(piece.inside)}</strong>;
    case "em":
      return <em key={key}>{drawAll(piece.inside)}</em>;
    case "del":
      return <del key={key}>{drawAll(piece.inside)}</del>;
    case "link":
      return (
        <Fragment key={key}>
          <Link address={piece.address} shown={piece.shown}>
            {drawAll(piece.inside)}
          </Link>
        </Fragment>
      );
    case "image":
      // Loading it would tell its host that it was looked at: shown as the text it is [W-08].
      return (
        <span key={key} class="not-loaded" title={`an image that is not loaded: ${piece.address}`}>
          image: <Text text={piece.alt || piece.address} />
        </span>
      );
  }
}

/** A link that says where it goes; anything but http(s) stays text. */
function Link({ address, shown, children }: { address: string | null; shown: string; children: ComponentChildren }): JSX.Element {
  if (address === null) {
    return (
      <span class="no-link" title={`not a web address: ${shown}`}>
        {children}
      </span>
    );
  }
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow" title={address}>
      {children}
    </a>
  );
}
