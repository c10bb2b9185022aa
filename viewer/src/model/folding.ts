/** Long texts: when they are folded, what is shown of them, and how they are cut for showing in full. */

/** Above either of these a text is folded [trace-and-cook, section 11]. */
export const MOST_LINES = 8;
export const MOST_CHARACTERS = 500;

/** Whether a text is long, reading no more of it than that takes. */
export function isLong(text: string, lines = MOST_LINES, characters = MOST_CHARACTERS): boolean {
  return text.length > characters || linesUpTo(text, lines + 1) > lines;
}

/** The beginning of a long text that is shown while it is folded. */
export function beginning(text: string, lines = MOST_LINES, characters = MOST_CHARACTERS): string {
  let end = Math.min(text.length, characters);
  let at = -1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf("\n", at + 1);
    if (at === -1 || at >= end) break;
    if (line === lines - 1) end = at;
  }
  // Half a surrogate pair is no character.
  if (end > 0 && end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

export function linesUpTo(text: string, most: number): number {
  let found = 1;
  for (let at = text.indexOf("\n"); at !== -1 && found < most; at = text.indexOf("\n", at + 1)) found += 1;
  return found;
}

/** A long text cut into pieces of about `size` characters, at line ends where there are any near. */
export function pieces(text: string, size = 20_000): string[] {
  const cut: string[] = [];
  let from = 0;
  while (from < text.length) {
    let to = Math.min(text.length, from + size);
    if (to < text.length) {
      const line = text.lastIndexOf("\n", to);
      if (line > from + size / 2) to = line + 1;
      else if (isHighSurrogate(text.charCodeAt(to - 1))) to -= 1;
    }
    cut.push(text.slice(from, to));
    from = to;
  }
  return cut.length > 0 ? cut : [""];
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
