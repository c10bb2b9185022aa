/**
 * Code in colours: comments, strings, numbers, keywords, names of calls. One small reader for all languages.
 *
 * It knows how a family of languages writes comments and strings and which words it reserves; that is enough to read
 * code by, costs no grammar, and takes time in proportion to the text.
 */

export type Ink = "plain" | "comment" | "string" | "number" | "keyword" | "name" | "key" | "added" | "deleted" | "meta";

export interface Span {
  readonly ink: Ink;
  readonly text: string;
}

interface Family {
  readonly line?: RegExp;
  readonly block?: readonly [string, string];
  readonly quotes: string;
  readonly long?: readonly string[];
  readonly words: ReadonlySet<string>;
  readonly anyCase?: boolean;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const C_LIKE =
  "break case catch class const continue default delete do else enum export extends false finally for function if implements import in instanceof interface let new null package private protected public return static struct super switch this throw true try typeof union unsigned using var virtual void volatile while yield async await of type namespace abstract boolean byte char double final float int long short signed goto register extern template typename operator nullptr bool string number any unknown never readonly as satisfies from record sealed when where fn pub mut impl trait match mod use crate self loop move ref dyn func go chan defer map range select nil val fun object companion override";

const FAMILIES: Readonly<Record<string, Family>> = {
  c: { line: /\/\//y, block: ["/*", "*/"], quotes: "\"'`", words: words(C_LIKE) },
  python: {
    line: /#/y,
    quotes: "\"'",
    long: ['"""', "'''"],
    words: words(
      "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda match case nonlocal not or pass raise return self try while with yield",
    ),
  },
  ruby: {
    line: /#/y,
    quotes: "\"'`",
    words: words(
      "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require",
    ),
  },
  shell: {
    line: /(?<=^|[\s;])#/y,
    quotes: "\"'`",
    words: words(
      "if then else elif fi case esac for while until do done in function return exit local export set unset source echo cd sudo select time trap eval exec",
    ),
  },
  sql: {
    line: /--/y,
    block: ["/*", "*/"],
    quotes: "\"'`",
    anyCase: true,
    words: words(
      "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then union unique update using values view when where with true false",
    ),
  },
  data: { line: /#/y, quotes: "\"'", words: words("true false null yes no on off") },
  json: { line: /\/\//y, quotes: '"', words: words("true false null") },
  css: { block: ["/*", "*/"], quotes: "\"'", words: words("important media supports import keyframes from to var calc") },
  markup: { block: ["<!--", "-->"], quotes: "\"'", words: words("") },
  lisp: {
    line: /;/y,
    quotes: '"',
    words: words("def defn defun define lambda let if cond do fn ns nil t true false quote loop recur when"),
  },
  haskell: {
    line: /--/y,
    block: ["{-", "-}"],
    quotes: '"',
    words: words("case class data default deriving do else if import in infix instance let module newtype of then type where function local end nil not and or return for while repeat until true false elseif"),
  },
};

const LANGUAGES: Readonly<Record<string, keyof typeof FAMILIES>> = Object.fromEntries(
  Object.entries({
    c: "c h cc cpp c++ hpp cs csharp java js javascript jsx mjs ts typescript tsx rust rs go golang kotlin kt swift php dart scala groovy proto protobuf zig solidity objc",
    python: "python py python3 ipython starlark bzl nim",
    ruby: "ruby rb elixir ex exs crystal perl pl r julia jl",
    shell: "sh bash shell zsh fish console shellsession powershell ps1 dockerfile docker makefile make",
    sql: "sql sqlite postgres postgresql mysql plsql",
    data: "yaml yml toml ini conf properties env",
    json: "json json5 jsonc ndjson jsonl",
    css: "css scss less",
    markup: "html xml svg vue svelte xhtml",
    lisp: "lisp clojure clj scheme elisp racket",
    haskell: "haskell hs elm lua ocaml ml fsharp",
  }).flatMap(([family, names]) => names.split(" ").map((name) => [name, family])),
);

/** Longer code stays plain. */
export const MOST_CODE = 100_000;

export function highlight(code: string, language: string): Span[] {
  const name = language.toLowerCase();
  if (code.length > MOST_CODE) return [{ ink: "plain", text: code }];
  if (name === "diff" || name === "patch") return differences(code);
  const family = FAMILIES[LANGUAGES[name] ?? ""];
  return family === undefined ? [{ ink: "plain", text: code }] : read(code, family, LANGUAGES[name] === "json");
}

const NUMBER = /(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[a-zA-Z]{0,3}/y;
const WORD = /[\p{L}_$@][\p{L}\p{N}_$]*/uy;
const SPACE = /\s+/y;

function read(code: string, family: Family, json: boolean): Span[] {
  const made: Span[] = [];
  const say = (ink: Ink, text: string): void => {
    const last = made[made.length - 1];
    if (last !== undefined && last.ink === ink) made[made.length - 1] = { ink, text: last.text + text };
    else made.push({ ink, text });
  };
  let at = 0;
  const taken = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(code)?.[0] ?? null;
  };
  while (at < code.length) {
    const found = next(at);
    say(found.ink, code.slice(at, found.end));
    at = found.end;
  }
  return made;

  function next(from: number): { ink: Ink; end: number } {
    const space = taken(SPACE);
    if (space !== null) return { ink: "plain", end: from + space.length };
    if (family.line && taken(family.line) !== null) return { ink: "comment", end: endOfLine(code, from) };
    if (family.block && code.startsWith(family.block[0], from)) {
      const end = code.indexOf(family.block[1], from + family.block[0].length);
      return { ink: "comment", end: end === -1 ? code.length : end + family.block[1].length };
    }
    for (const mark of family.long ?? []) {
      if (!code.startsWith(mark, from)) continue;
      const end = code.indexOf(mark, from + mark.length);
      return { ink: "string", end: end === -1 ? code.length : end + mark.length };
    }
    const character = code[from] as string;
    if (family.quotes.includes(character)) {
      const end = endOfString(code, from, character);
      return { ink: json && /^\s*:/.test(code.slice(end, end + 20)) ? "key" : "string", end };
    }
    const number = /\d/.test(character) ? taken(NUMBER) : null;
    if (number !== null) return { ink: "number", end: from + number.length };
    const word = taken(WORD);
    if (word !== null) {
      const end = from + word.length;
      if (family.words.has(family.anyCase ? word.toLowerCase() : word)) return { ink: "keyword", end };
      return { ink: code[end] === "(" ? "name" : "plain", end };
    }
    return { ink: "plain", end: from + 1 };
  }
}

function endOfString(code: string, from: number, quote: string): number {
  const runsOn = quote === "`";
  for (let at = from + 1; at < code.length; at += 1) {
    const character = code[at];
    if (character === "\\") at += 1;
    else if (character === quote) return at + 1;
    else if (character === "\n" && !runsOn) return at;
  }
  return code.length;
}

function endOfLine(code: string, from: number): number {
  const end = code.indexOf("\n", from);
  return end === -1 ? code.length : end;
}

function differences(code: string): Span[] {
  return code.split(/(?<=\n)/).map((line) => ({ ink: inkOf(line), text: line }));
}

function inkOf(line: string): Ink {
  if (/^(\+\+\+|---|@@|diff |index )/.test(line)) return "meta";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "deleted" : "plain";
}
