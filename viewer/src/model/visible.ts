/**
 * Characters that hide or reorder what stands beside them, made visible [W-12].
 *
 * A tool result that says one thing and shows another is the oldest trick there is: right-to-left overrides, zero-width
 * joiners, tag characters. They are shown by name instead of obeyed.
 */

export interface Piece {
  readonly text: string;
  /** Set when the piece is one hidden character, given by name. */
  readonly hidden?: string;
}

const NAMES = new Map<number, string>([
  [0x00ad, "SHY"],
  [0x034f, "CGJ"],
  [0x061c, "ALM"],
  [0x115f, "HCF"],
  [0x1160, "HJF"],
  [0x17b4, "KIVAQ"],
  [0x17b5, "KIVAA"],
  [0x180e, "MVS"],
  [0x200b, "ZWSP"],
  [0x200c, "ZWNJ"],
  [0x200d, "ZWJ"],
  [0x200e, "LRM"],
  [0x200f, "RLM"],
  [0x2028, "LSEP"],
  [0x2029, "PSEP"],
  [0x202a, "LRE"],
  [0x202b, "RLE"],
  [0x202c, "PDF"],
  [0x202d, "LRO"],
  [0x202e, "RLO"],
  [0x2060, "WJ"],
  [0x2061, "FA"],
  [0x2062, "IT"],
  [0x2063, "IS"],
  [0x2064, "IP"],
  [0x2066, "LRI"],
  [0x2067, "RLI"],
  [0x2068, "FSI"],
  [0x2069, "PDI"],
  [0x3164, "HF"],
  [0xfeff, "BOM"],
  [0xffa0, "HWHF"],
]);

// C0 and C1 controls but tab and line ends, the characters above, deprecated format controls, and the tag block.
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const PICTURE = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*$/u;

/** Whether there is nothing hidden: most texts, told at the cost of one search. */
export function isPlain(text: string): boolean {
  return text.search(HIDDEN) === -1; // `search` begins at the beginning, whatever was looked for before
}

export function visible(text: string): Piece[] {
  const made: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    const at = match.index;
    const code = match[0].codePointAt(0) as number;
    // Family emoji are joined with ZWJ; a joiner between two pictures hides nothing.
    if (code === 0x200d && PICTURE.test(text.slice(Math.max(0, at - 8), at)) && /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3))) continue;
    if (at > from) made.push({ text: text.slice(from, at) });
    made.push({ text: match[0], hidden: nameOf(code) });
    from = at + match[0].length;
  }
  if (from < text.length || made.length === 0) made.push({ text: text.slice(from) });
  return made;
}

/** The same as plain text, for places that hold nothing else: a tooltip, a title. */
export function spelled(text: string): string {
  return isPlain(text) ? text : visible(text).map((piece) => (piece.hidden === undefined ? piece.text : `⟨${piece.hidden}⟩`)).join("");
}

export function nameOf(code: number): string {
  const name = NAMES.get(code);
  if (name !== undefined) return name;
  if (code >= 0xe0020 && code <= 0xe007e) return `TAG ${String.fromCharCode(code - 0xe0000)}`;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

export function codeOf(text: string): string {
  return `U+${(text.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * Whether a name that should be plain has letters from elsewhere: `раssword` with a Cyrillic first letter is not
 * `password`. Names of tools and models are ASCII nearly everywhere, so any other letter is worth a mark.
 */
export function isForeign(name: string): boolean {
  return /[^\u0020-\u007e]/.test(name);
}

/** The characters of a name, each marked if it is not ASCII. */
export function foreignPieces(name: string): { text: string; foreign: boolean }[] {
  const made: { text: string; foreign: boolean }[] = [];
  for (const match of name.matchAll(/[\u0020-\u007e]+|[^\u0020-\u007e]+/gu)) {
    made.push({ text: match[0], foreign: !/^[\u0020-\u007e]/.test(match[0]) });
  }
  return made;
}

/** A link that may be followed: http or https with a host, and nothing else. */
export function safeLink(address: string): string | null {
  const trimmed = address.trim();
  if (!/^https?:\/\//i.test(trimmed) || !isPlain(trimmed)) return null;
  try {
    const url = new URL(trimmed);
    return (url.protocol === "http:" || url.protocol === "https:") && url.host !== "" ? url.href : null;
  } catch {
    return null;
  }
}
