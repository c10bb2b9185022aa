/**
 * Markdown as a tree of plain values, for the page to build nodes from. No HTML comes out of here, and HTML that goes in
 * comes out as text [C-56, W-07].
 *
 * Ours, because what a model writes may be made to hurt: general readers take seconds for some texts of a page's length,
 * and a page that stands still is a page that was attacked. This one reads what people and models use (CommonMark without
 * reference links, with tables, tasks and strikethrough), looks at each character a bounded number of times, and shows what
 * it does not know as it stands. Line breaks within a paragraph are kept. Words and signs within a line: inline.ts.
 */

import { inlines, type Inline } from "./inline.ts";

export type { Inline } from "./inline.ts";

export type Block =
  | { readonly kind: "paragraph"; readonly inside: readonly Inline[] }
  | { readonly kind: "heading"; readonly level: number; readonly inside: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | { readonly kind: "list"; readonly ordered: boolean; readonly start: number; readonly items: readonly Item[] }
  | { readonly kind: "table"; readonly head: readonly Cell[]; readonly rows: readonly (readonly Cell[])[] }
  | { readonly kind: "rule" };

export interface Item {
  readonly checked: boolean | null;
  readonly blocks: readonly Block[];
}

export type Align = "left" | "center" | "right" | null;

export interface Cell {
  readonly align: Align;
  readonly inside: readonly Inline[];
}

/** Longer texts are shown as they are: nobody reads 60,000 characters set nicely. */
export const MOST_MARKDOWN = 60_000;

/** Deeper nesting than any person writes is shown as text. */
const DEEPEST = 12;

const SIGNS =
  /(?:^|\n) {0,3}(?:#{1,6}[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>|```|~~~|\||(?:[-*_][ \t]*){3,}(?:\n|$))|\*\*[^\s*]|__[^\s_]|~~[^\s~]|`[^`\n]{1,500}`|\[[^\]\n]{1,500}\]\(|(?:^|[\s(])[*_][^\s*_](?:[^\n]{0,300}[^\s*_])?[*_]/;

/** Whether a text would look any different as Markdown. */
export function isMarkdown(text: string): boolean {
  return text.length <= MOST_MARKDOWN && SIGNS.test(text);
}

export function parse(text: string): Block[] {
  if (text.length > MOST_MARKDOWN) return [plain(text)];
  return blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0);
}

function plain(text: string): Block {
  return { kind: "paragraph", inside: [{ kind: "text", text }] };
}

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const QUOTE = /^ {0,3}> ?/;
const MARKER = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}(?=\S)|[ \t]|$)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const TASK = /^\[([ xX])\][ \t]+/;

function blocks(lines: readonly string[], depth: number): Block[] {
  if (depth > DEEPEST) return [plain(lines.join("\n"))];
  const made: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const [block, next] = block1(lines, at, depth);
    made.push(block);
    at = next;
  }
  return made;
}

/** The block that begins at a line, and the line after it. */
function block1(lines: readonly string[], at: number, depth: number): [Block, number] {
  const line = lines[at] as string;
  const fence = FENCE.exec(line);
  if (fence !== null) return fenced(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading !== null) return [{ kind: "heading", level: (heading[1] as string).length, inside: inlines(headingText(line.slice(heading[0].length))) }, at + 1];
  if (isRule(line)) return [{ kind: "rule" }, at + 1];
  if (QUOTE.test(line)) return quoted(lines, at, depth);
  if (MARKER.test(line)) return listed(lines, at, depth);
  if (line.startsWith("    ")) return indented(lines, at);
  const aligns = line.includes("|") ? alignsOf(lines[at + 1]) : null;
  if (aligns !== null && cellsOf(line).length === aligns.length) return tabled(lines, at, aligns);
  return paragraph(lines, at);
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === "";
}

/** Three or more of one sign, alone on their line. */
function isRule(line: string): boolean {
  const signs = line.replace(/[ \t]/g, "");
  return signs.length >= 3 && !line.startsWith("    ") && "-*_".includes(signs[0] as string) && signs === (signs[0] as string).repeat(signs.length);
}

/** Whether a line ends the paragraph before it. */
function begins(line: string): boolean {
  if (FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || isRule(line)) return true;
  const marker = MARKER.exec(line);
  // A number in the middle of a sentence that happens to begin a line is no list, unless it is 1.
  return marker !== null && line.length > marker[0].length && (!/\d/.test(marker[2] as string) || Number.parseInt(marker[2] as string, 10) === 1);
}

function headingText(rest: string): string {
  let text = rest.trim();
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") end -= 1;
  if (end === 0 || text[end - 1] === " " || text[end - 1] === "\t") text = text.slice(0, end).trim();
  return text;
}

function fenced(lines: readonly string[], at: number, fence: RegExpExecArray): [Block, number] {
  const [, indent = "", marks = "", info = ""] = fence;
  const inside: string[] = [];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = (lines[end] as string).trim();
    if (line.startsWith(marks) && line === (marks[0] as string).repeat(line.length)) break;
    inside.push(withoutIndent(lines[end] as string, indent.length));
  }
  return [{ kind: "code", language: languageOf(info), text: inside.join("\n") }, end + 1];
}

function languageOf(info: string): string {
  return (info.trim().split(/[\s,{]/, 1)[0] ?? "").toLowerCase();
}

function withoutIndent(line: string, most: number): string {
  let spaces = 0;
  while (spaces < most && line[spaces] === " ") spaces += 1;
  return line.slice(spaces);
}

function indented(lines: readonly string[], at: number): [Block, number] {
  let end = at;
  while (end < lines.length && ((lines[end] as string).startsWith("    ") || isBlank(lines[end]))) end += 1;
  let last = end;
  while (isBlank(lines[last - 1])) last -= 1;
  return [{ kind: "code", language: "", text: lines.slice(at, last).map((line) => withoutIndent(line, 4)).join("\n") }, end];
}

function quoted(lines: readonly string[], at: number, depth: number): [Block, number] {
  const inside: string[] = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] as string;
    const mark = QUOTE.exec(line);
    // A line that goes on without the sign still belongs to the paragraph.
    if (mark === null && (isBlank(line) || begins(line) || isBlank(inside.at(-1)))) break;
    inside.push(mark === null ? line : line.slice(mark[0].length));
  }
  return [{ kind: "quote", blocks: blocks(inside, depth + 1) }, end];
}

function listed(lines: readonly string[], at: number, depth: number): [Block, number] {
  const first = MARKER.exec(lines[at] as string) as RegExpExecArray;
  const kind = kindOf(first);
  const items: Item[] = [];
  let end = at;
  while (end < lines.length) {
    const marker = MARKER.exec(lines[end] as string);
    if (marker === null || kindOf(marker) !== kind || isRule(lines[end] as string)) break;
    const [inside, next] = itemLines(lines, end, marker);
    items.push(itemOf(inside, depth));
    end = next;
    let after = end;
    while (after < lines.length && isBlank(lines[after])) after += 1;
    if (after < lines.length && MARKER.test(lines[after] as string)) end = after;
  }
  const start = Number.parseInt(first[2] as string, 10);
  return [{ kind: "list", ordered: /\d/.test(first[2] as string), start: Number.isNaN(start) ? 1 : start, items }, end];
}

/** What tells one list from the next: the bullet itself, or the sign after the number. */
function kindOf(marker: RegExpExecArray): string {
  const sign = marker[2] as string;
  return /\d/.test(sign) ? `1${sign.at(-1) ?? ""}` : sign;
}

function itemLines(lines: readonly string[], at: number, marker: RegExpExecArray): [string[], number] {
  const line = lines[at] as string;
  const width = Math.max(marker[0].length, (marker[1] as string).length + (marker[2] as string).length + 1);
  const inside = [line.slice(marker[0].length)];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const next = lines[end] as string;
    if (isBlank(next)) {
      const after = lines[end + 1];
      if (after === undefined || !isWithin(after, width)) break;
      inside.push("");
    } else if (isWithin(next, width)) {
      inside.push(withoutIndent(next.replace(/^\t/, "    "), width));
    } else if (isBlank(lines[end - 1]) || begins(next) || MARKER.test(next)) {
      break;
    } else {
      inside.push(next.trimStart());
    }
  }
  return [inside, end];
}

function isWithin(line: string, width: number): boolean {
  return isBlank(line) ? false : line.startsWith("\t") || line.startsWith(" ".repeat(Math.min(width, 4)));
}

function itemOf(lines: string[], depth: number): Item {
  const task = TASK.exec(lines[0] as string);
  if (task !== null) lines[0] = (lines[0] as string).slice(task[0].length);
  return { checked: task === null ? null : task[1] !== " ", blocks: blocks(lines, depth + 1) };
}

/** The cells of a table's line: parted by bars that are neither escaped nor within code. */
function cellsOf(line: string): string[] {
  const made: string[] = [];
  let cell = "";
  let isCode = false;
  const text = line.trim().replace(/^\|/, "");
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (sign === "\\" && text[at + 1] === "|") {
      cell += "|";
      at += 1;
    } else if (sign === "|" && !isCode) {
      made.push(cell.trim());
      cell = "";
    } else {
      if (sign === "`") isCode = !isCode && text.indexOf("`", at + 1) !== -1;
      cell += sign;
    }
  }
  if (cell.trim() !== "") made.push(cell.trim());
  return made;
}

function alignsOf(line: string | undefined): Align[] | null {
  if (line === undefined || !/^[ \t|:-]+$/.test(line) || !line.includes("-")) return null;
  const cells = cellsOf(line);
  if (cells.length === 0 || !cells.every((cell) => /^:?-+:?$/.test(cell))) return null;
  return cells.map((cell) => (cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : cell.startsWith(":") ? "left" : null));
}

function tabled(lines: readonly string[], at: number, aligns: readonly Align[]): [Block, number] {
  const row = (line: string): Cell[] => {
    const cells = cellsOf(line);
    return aligns.map((align, index) => ({ align, inside: inlines(cells[index] ?? "") }));
  };
  const rows: Cell[][] = [];
  let end = at + 2;
  for (; end < lines.length && !isBlank(lines[end]) && (lines[end] as string).includes("|"); end += 1) rows.push(row(lines[end] as string));
  return [{ kind: "table", head: row(lines[at] as string), rows }, end];
}

function paragraph(lines: readonly string[], at: number): [Block, number] {
  let end = at + 1;
  for (; end < lines.length && !isBlank(lines[end]); end += 1) {
    const line = lines[end] as string;
    const underline = UNDERLINE.exec(line);
    if (underline !== null) {
      const level = (underline[1] as string).startsWith("=") ? 1 : 2;
      return [{ kind: "heading", level, inside: inlines(joined(lines, at, end)) }, end + 1];
    }
    if (begins(line) || (line.includes("|") && alignsOf(lines[end + 1]) !== null)) break;
  }
  return [{ kind: "paragraph", inside: inlines(joined(lines, at, end)) }, end];
}

function joined(lines: readonly string[], from: number, to: number): string {
  return lines.slice(from, to).map((line) => line.trim()).join("\n");
}
