/** Text as it is, with what hides in it made visible [W-12]. */

import { Fragment, type JSX } from "preact";
import { codeOf, foreignPieces, isForeign, isPlain, visible } from "../model/visible.ts";

export function Text({ text }: { text: string }): JSX.Element {
  if (isPlain(text)) return <>{text}</>;
  return (
    <>
      {visible(text).map((piece, at) =>
        piece.hidden === undefined ? (
          <Fragment key={at}>{piece.text}</Fragment>
        ) : (
          <span key={at} class="hidden-mark" title={`a hidden character, ${codeOf(piece.text)}`}>
            {piece.hidden}
          </span>
        ),
      )}
    </>
  );
}

/** A name that ought to be plain: of a tool, of a model. Letters from elsewhere are pointed out. */
export function Name({ name }: { name: string }): JSX.Element {
  if (!isForeign(name)) return <>{name}</>;
  return (
    <span class="foreign-name" title={`not plain ASCII: ${[...name].filter((letter) => isForeign(letter)).map(codeOf).join(" ")}`}>
      {foreignPieces(name).map((piece, at) =>
        piece.foreign ? (
          <mark key={at} class="foreign-mark">
            <Text text={piece.text} />
          </mark>
        ) : (
          <Fragment key={at}>{piece.text}</Fragment>
        ),
      )}
    </span>
  );
}

/** Text with some ranges marked: what was searched for. */
export function Marked({ text, marks }: { text: string; marks: readonly (readonly [number, number])[] }): JSX.Element {
  const made: JSX.Element[] = [];
  let from = 0;
  for (const [start, end] of marks) {
    if (start < from || end > text.length) continue;
    if (start > from) made.push(<Text key={from} text={text.slice(from, start)} />);
    made.push(
      <mark key={`m${start}`}>
        <Text text={text.slice(start, end)} />
      </mark>,
    );
    from = end;
  }
  if (from < text.length) made.push(<Text key={from} text={text.slice(from)} />);
  return <>{made}</>;
}
