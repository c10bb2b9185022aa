/**
 * The inside of a Markdown paragraph: emphasis, code, links. One walk from left to right with a stack of what is open; what
 * was never closed turns out to have been text.
 */

import { safeLink } from "./visible.ts";

export type Inline =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong" | "em" | "del"; readonly inside: readonly Inline[] }
  | { readonly kind: "link"; readonly address: string | null; readonly shown: string; readonly inside: readonly Inline[] }
  | { readonly kind: "image"; readonly address: string; readonly alt: string };

/** Something that was opened: its sign as it stood, and what came since. */
interface Open {
  readonly sign: string;
  readonly inside: Inline[];
}

const ESCAPABLE = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const TARGET = /\([ \t\n]{0,20}(?:<([^<>\n]{0,2000})>|([^\s()<>]{0,2000}(?:\([^\s()]{0,500}\)[^\s()]{0,500}){0,8}))(?:[ \t\n]{1,20}(?:"[^"]{0,500}"|'[^']{0,500}'))?[ \t\n]{0,20}\)/y;
const ANGLED = /<(https?:\/\/[^\s<>]{1,2000})>/iy;
const BARE = /https?:\/\/[^\s<>"'`\\^{}|]{1,2000}/iy;
const DEEPEST = 40;

export function inlines(text: string): Inline[] {
  return new Walk(text).whole();
}

class Walk {
  private readonly text: string;
  private at = 0;
  private plainFrom = 0;
  private readonly open: Open[] = [{ sign: "", inside: [] }];
  /** How many of each sign are open: looking for one that is not would be in vain. */
  private readonly waiting = new Map<string, number>();
  /** Where runs of so many backticks are, in order. */
  private readonly ticks = new Map<number, number[]>();

  constructor(text: string) {
    this.text = text;
    for (const run of text.matchAll(/`+/g)) {
      const known = this.ticks.get(run[0].length);
      if (known === undefined) this.ticks.set(run[0].length, [run.index]);
      else known.push(run.index);
    }
  }

  whole(): Inline[] {
    while (this.at < this.text.length) this.step();
    this.flush(this.text.length);
    this.flatten(1);
    return this.top().inside;
  }

  private step(): void {
    switch (this.text[this.at]) {
      case "\\":
        return this.escape();
      case "`":
        return this.code();
      case "*":
      case "_":
      case "~":
        return this.emphasis();
      case "[":
        return this.bracket("[");
      case "!":
        if (this.text[this.at + 1] === "[") return this.bracket("![");
        break;
      case "]":
        return this.close();
      case "<":
        return this.address(ANGLED, 1);
      case "h":
      case "H":
        if (!/[\p{L}\p{N}_]/u.test(this.text[this.at - 1] ?? " ")) return this.address(BARE, 0);
    }
    this.at += 1;
  }

  private top(): Open {
    return this.open[this.open.length - 1] as Open;
  }

  /** What was passed since the last sign is text. */
  private flush(end: number): void {
    if (end > this.plainFrom) say(this.top().inside, this.text.slice(this.plainFrom, end));
  }

  private add(node: Inline, end: number): void {
    this.flush(this.at);
    this.top().inside.push(node);
    this.skipTo(end);
  }

  private skipTo(end: number): void {
    this.at = end;
    this.plainFrom = end;
  }

  private escape(): void {
    const next = this.text[this.at + 1];
    if (next !== undefined && ESCAPABLE.includes(next)) {
      this.flush(this.at);
      this.plainFrom = this.at + 1;
      this.at += 2;
    } else {
      this.at += 1;
    }
  }

  private code(): void {
    let end = this.at;
    while (this.text[end] === "`") end += 1;
    const runs = this.ticks.get(end - this.at) ?? [];
    while (runs.length > 0 && (runs[0] as number) < end) runs.shift();
    const close = runs[0];
    if (close === undefined) {
      this.at = end;
      return;
    }
    let inside = this.text.slice(end, close).replace(/\n/g, " ");
    if (/^ .*[^ ].* $/.test(inside.length < 2000 ? inside : "")) inside = inside.slice(1, -1);
    this.add({ kind: "code", text: inside }, close + end - this.at);
  }

  private emphasis(): void {
    const sign = this.text[this.at] as string;
    let end = this.at;
    while (this.text[end] === sign) end += 1;
    const many = end - this.at;
    const before = this.text[this.at - 1] ?? " ";
    const after = this.text[end] ?? " ";
    const canOpen = !isSpace(after) && (!isSign(after) || isSpace(before) || isSign(before)) && (sign !== "_" || !isWord(before));
    const canClose = !isSpace(before) && (!isSign(before) || isSpace(after) || isSign(after)) && (sign !== "_" || !isWord(after));
    const isMark = sign === "~" ? many === 2 : many <= 3;
    if (!isMark || !(canOpen || canClose)) {
      this.at = end;
      return;
    }
    this.flush(this.at);
    this.skipTo(end);
    // Three are two signs at once: closed from the inside out, opened from the outside in.
    const inner = this.top().sign.length === 2 ? [2, 1] : [1, 2];
    const left = new Set(many === 3 ? [2, 1] : [many]);
    for (const size of many === 3 ? inner : [many]) {
      if (canClose && this.wrap(sign.repeat(size))) left.delete(size);
    }
    for (const size of left) {
      if (canOpen && this.open.length < DEEPEST) this.push(sign.repeat(size));
      else say(this.top().inside, sign.repeat(size));
    }
  }

  private push(sign: string): void {
    this.open.push({ sign, inside: [] });
    this.waiting.set(sign, (this.waiting.get(sign) ?? 0) + 1);
  }

  /** Close the nearest of this sign, if there is one since the last bracket. */
  private wrap(mark: string): boolean {
    if ((this.waiting.get(mark) ?? 0) === 0) return false;
    for (let level = this.open.length - 1; level > 0; level -= 1) {
      const open = this.open[level] as Open;
      if (open.sign === "[" || open.sign === "![") return false;
      if (open.sign !== mark) continue;
      if (level === this.open.length - 1 && open.inside.length === 0) return false;
      const inside = this.pop(level);
      this.top().inside.push({ kind: mark === "~~" ? "del" : mark.length === 2 ? "strong" : "em", inside });
      return true;
    }
    return false;
  }

  /** Take everything from a level on off the stack; what was opened above it was only text. */
  private pop(level: number): Inline[] {
    this.flatten(level + 1);
    const open = this.open.pop() as Open;
    this.waiting.set(open.sign, (this.waiting.get(open.sign) ?? 1) - 1);
    return open.inside;
  }

  private flatten(level: number): void {
    const below = this.open[level - 1] as Open;
    for (const open of this.open.splice(level)) {
      this.waiting.set(open.sign, (this.waiting.get(open.sign) ?? 1) - 1);
      say(below.inside, open.sign);
      for (const node of open.inside) {
        if (node.kind === "text") say(below.inside, node.text);
        else below.inside.push(node);
      }
    }
  }

  private bracket(sign: "[" | "!["): void {
    if (this.open.length >= DEEPEST) {
      this.at += sign.length;
      return;
    }
    this.flush(this.at);
    this.skipTo(this.at + sign.length);
    this.push(sign);
  }

  private close(): void {
    const level = this.open.findLastIndex((open) => open.sign === "[" || open.sign === "![");
    if (level === -1) {
      this.at += 1;
      return;
    }
    TARGET.lastIndex = this.at + 1;
    const target = TARGET.exec(this.text);
    this.flush(this.at);
    if (target === null) {
      this.plainFrom = this.at;
      this.at += 1;
      this.flatten(level);
      return;
    }
    const { sign } = this.open[level] as Open;
    const inside = this.pop(level);
    const shown = target[1] ?? target[2] ?? "";
    this.top().inside.push(sign === "![" ? { kind: "image", address: shown, alt: textOf(inside) } : { kind: "link", address: safeLink(shown), shown, inside });
    this.skipTo(this.at + 1 + target[0].length);
  }

  private address(pattern: RegExp, group: number): void {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) {
      this.at += 1;
      return;
    }
    let shown = found[group] as string;
    let end = this.at + found[0].length;
    if (group === 0) {
      const trimmed = withoutTail(shown);
      end -= shown.length - trimmed.length;
      shown = trimmed;
    }
    const isInLink = this.open.some((open) => open.sign === "[");
    const address = safeLink(shown);
    if (address === null || isInLink) this.at = end;
    else this.add({ kind: "link", address, shown, inside: [{ kind: "text", text: shown }] }, end);
  }
}

/** Add text to what is there; neighbouring texts are one. */
function say(inside: Inline[], text: string): void {
  const last = inside.at(-1);
  if (last !== undefined && last.kind === "text") inside[inside.length - 1] = { kind: "text", text: last.text + text };
  else if (text !== "") inside.push({ kind: "text", text });
}

/** A sentence's own signs do not belong to the address it ends with. */
function withoutTail(address: string): string {
  let end = address.length;
  while (end > 0 && ".,;:!?*_~)]".includes(address[end - 1] as string)) {
    if (address[end - 1] === ")" && address.slice(0, end).includes("(")) break;
    end -= 1;
  }
  return address.slice(0, end);
}

function textOf(inside: readonly Inline[]): string {
  return inside.map((node) => ("text" in node ? node.text : "inside" in node ? textOf(node.inside) : node.alt)).join("");
}

function isSpace(sign: string): boolean {
  return /\s/.test(sign);
}

function isSign(sign: string): boolean {
  return /[\p{P}\p{S}]/u.test(sign);
}

function isWord(sign: string): boolean {
  return /[\p{L}\p{N}]/u.test(sign);
}
