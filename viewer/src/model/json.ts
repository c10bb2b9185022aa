/**
 * JSON text as a tree for showing: numbers keep their digits, keys their order, and doubles stay two.
 *
 * JSON.parse would round 12345678901234567890, drop a repeated key and move "10" before "9"; a viewer must not.
 */

export type JsonNode =
  | { readonly kind: "object"; readonly entries: readonly (readonly [string, JsonNode])[] }
  | { readonly kind: "array"; readonly items: readonly JsonNode[] }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "number" | "word"; readonly text: string };

/** The tree, or null if this is not JSON (cut short, perhaps). */
export function parseJson(text: string): JsonNode | null {
  try {
    return new Reader(text).whole();
  } catch {
    return null;
  }
}

const BLANK = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

class Reader {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  whole(): JsonNode {
    const node = this.value();
    this.take(BLANK);
    if (this.at !== this.text.length) throw new SyntaxError("text after the value");
    return node;
  }

  private value(): JsonNode {
    this.take(BLANK);
    switch (this.text[this.at]) {
      case "{":
        return { kind: "object", entries: this.list("}", () => this.entry()) };
      case "[":
        return { kind: "array", items: this.list("]", () => this.value()) };
      case '"':
        return { kind: "string", text: this.string() };
    }
    const number = this.take(NUMBER);
    if (number !== null && number !== "") return { kind: "number", text: number };
    const word = this.take(WORD);
    if (word === null) throw new SyntaxError("not JSON");
    return { kind: "word", text: word };
  }

  private entry(): [string, JsonNode] {
    this.take(BLANK);
    const key = this.string();
    this.take(BLANK);
    this.need(":");
    return [key, this.value()];
  }

  private list<Item>(end: string, item: () => Item): Item[] {
    const made: Item[] = [];
    this.at += 1;
    this.take(BLANK);
    if (this.text[this.at] === end) {
      this.at += 1;
      return made;
    }
    for (;;) {
      made.push(item());
      this.take(BLANK);
      if (this.text[this.at] === end) break;
      this.need(",");
    }
    this.at += 1;
    return made;
  }

  private string(): string {
    const found = this.take(STRING);
    if (found === null) throw new SyntaxError("not a string");
    return found.includes("\\") ? (JSON.parse(found) as string) : found.slice(1, -1);
  }

  private need(mark: string): void {
    if (this.text[this.at] !== mark) throw new SyntaxError(`no ${mark}`);
    this.at += 1;
  }

  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    this.at += found[0].length;
    return found[0];
  }
}

/** Written with two spaces a level, as people read it. */
export function indented(node: JsonNode, level = 0): string {
  const inner = "  ".repeat(level + 1);
  const outer = "  ".repeat(level);
  switch (node.kind) {
    case "object":
      if (node.entries.length === 0) return "{}";
      return `{\n${node.entries.map(([key, value]) => `${inner}${JSON.stringify(key)}: ${indented(value, level + 1)}`).join(",\n")}\n${outer}}`;
    case "array":
      if (node.items.length === 0) return "[]";
      return `[\n${node.items.map((item) => inner + indented(item, level + 1)).join(",\n")}\n${outer}]`;
    case "string":
      return JSON.stringify(node.text);
    default:
      return node.text;
  }
}

/** How many values are in it, itself included; counting stops at `most`. */
export function sizeOf(node: JsonNode, most = 10_000): number {
  let seen = 0;
  const waiting: JsonNode[] = [node];
  while (waiting.length > 0 && seen < most) {
    const next = waiting.pop() as JsonNode;
    seen += 1;
    if (next.kind === "object") for (const [, value] of next.entries) waiting.push(value);
    if (next.kind === "array") waiting.push(...next.items.slice(0, most));
  }
  return seen;
}

/** The paths of everything that has the words in a key or a value, as `a.0.b`; parents included, to be unfolded. */
export function pathsWith(node: JsonNode, words: string): { hits: Set<string>; open: Set<string> } {
  const hits = new Set<string>();
  const open = new Set<string>();
  const wanted = words.toLowerCase();
  const visit = (at: JsonNode, path: string): boolean => {
    let within = false;
    const children: [string, JsonNode][] =
      at.kind === "object"
        ? at.entries.map(([key, value]) => [key, value])
        : at.kind === "array"
          ? at.items.map((value, index) => [String(index), value])
          : [];
    children.forEach(([key, value], index) => {
      const below = `${path}.${index}`;
      const isHit = (at.kind === "object" && key.toLowerCase().includes(wanted)) || (isLeaf(value) && value.text.toLowerCase().includes(wanted));
      if (isHit) hits.add(below);
      if (visit(value, below) || isHit) within = true;
    });
    if (within) open.add(path);
    return within;
  };
  if (wanted !== "") visit(node, "");
  return { hits, open };
}

function isLeaf(node: JsonNode): node is Extract<JsonNode, { text: string }> {
  return node.kind !== "object" && node.kind !== "array";
}
