import { expect, test } from "vitest";
import { isMarkdown, MOST_MARKDOWN, parse, type Block, type Inline } from "./markdown.ts";

const text = (said: string): Inline => ({ kind: "text", text: said });
const paragraph = (...inside: Inline[]): Block => ({ kind: "paragraph", inside });

test("the usual is read: headings, emphasis, code, lists, tables, quotes", () => {
  expect(parse("# Title\n\nSome **bold** and `code`.\n\n> said")).toEqual([
    { kind: "heading", level: 1, inside: [text("Title")] },
    paragraph(text("Some "), { kind: "strong", inside: [text("bold")] }, text(" and "), { kind: "code", text: "code" }, text(".")),
    { kind: "quote", blocks: [paragraph(text("said"))] },
  ]);
  expect(parse("3. a\n4. b")).toMatchObject([{ kind: "list", ordered: true, start: 3, items: [{}, {}] }]);
  expect(parse("1. a\n2. b")).toMatchObject([{ kind: "list", ordered: true, start: 1 }]);
  expect(parse("- [x] a\n- [ ] b")).toMatchObject([{ kind: "list", items: [{ checked: true }, { checked: false }] }]);
  expect(parse("|a|b|\n|-|-:|\n|1|2|")).toEqual([
    {
      kind: "table",
      head: [
        { align: null, inside: [text("a")] },
        { align: "right", inside: [text("b")] },
      ],
      rows: [
        [
          { align: null, inside: [text("1")] },
          { align: "right", inside: [text("2")] },
        ],
      ],
    },
  ]);
});

test("code keeps its text and the first word of its language", () => {
  expect(parse("```Python title=x\na < b && c\n```")).toEqual([{ kind: "code", language: "python", text: "a < b && c" }]);
});

test("W-07: HTML stays text, as it was written", () => {
  expect(parse("<script>alert(1)</script>")).toEqual([paragraph(text("<script>alert(1)</script>"))]);
  expect(parse("a <img src=x onerror=alert(1)> b")).toEqual([paragraph(text("a <img src=x onerror=alert(1)> b"))]);
});

test("W-07: entities are not decoded into markup, and ampersands stay as they are", () => {
  const [block] = parse("&lt;script&gt; AT&T a&b");
  expect(JSON.stringify(block)).toContain("&lt;script&gt; AT&T a&b");
});

test("W-07: a link to anything but the web has no address", () => {
  expect(parse("[x](javascript:alert(1))")).toEqual([paragraph({ kind: "link", address: null, shown: "javascript:alert(1)", inside: [text("x")] })]);
  expect(parse("[x](https://example.org)")).toMatchObject([{ inside: [{ kind: "link", address: "https://example.org/" }] }]);
});

test("W-08: an image is its description and where it would have come from", () => {
  expect(parse("![alt](https://evil.example/x.png)")).toEqual([paragraph({ kind: "image", address: "https://evil.example/x.png", alt: "alt" })]);
});

test("nothing that was written is lost in what is shown", () => {
  const said = (blocks: readonly Block[]): string => JSON.stringify(blocks);
  for (const word of ["[ref]: https://example.org 'x'", "Some text[^1]\n\n[^1]: note", "term\n: definition"]) {
    for (const piece of word.match(/[a-z]+/g) ?? []) expect(said(parse(word))).toContain(piece);
  }
});

test("lists nest, hold code, and go on over blank lines", () => {
  expect(parse("- a\n  - b\n    more\n\n  ```sh\n  ls\n  ```\n- c\n\nafter")).toEqual([
    {
      kind: "list",
      ordered: false,
      start: 1,
      items: [
        {
          checked: null,
          blocks: [
            paragraph(text("a")),
            { kind: "list", ordered: false, start: 1, items: [{ checked: null, blocks: [paragraph(text("b\nmore"))] }] },
            { kind: "code", language: "sh", text: "ls" },
          ],
        },
        { checked: null, blocks: [paragraph(text("c"))] },
      ],
    },
    paragraph(text("after")),
  ]);
});

test.each([
  ["***both***", [{ kind: "strong", inside: [{ kind: "em", inside: [text("both")] }] }]],
  ["*a **b** c*", [{ kind: "em", inside: [text("a "), { kind: "strong", inside: [text("b")] }, text(" c")] }]],
  ["snake_case_name and 2*3*4", [text("snake_case_name and 2"), { kind: "em", inside: [text("3")] }, text("4")]],
  ["**open and *never closed", [text("**open and *never closed")]],
  ["a ~~b~~ ~c~", [text("a "), { kind: "del", inside: [text("b")] }, text(" ~c~")]],
  ["\\*not\\*", [text("*not*")]],
  ["``a`b`` `c", [{ kind: "code", text: "a`b" }, text(" `c")]],
  ["[a *b](c) d*", [{ kind: "link", address: null, shown: "c", inside: [text("a *b")] }, text(" d*")]],
  ["see https://example.org/a_(b). ok", [text("see "), { kind: "link", address: "https://example.org/a_(b)", shown: "https://example.org/a_(b)", inside: [text("https://example.org/a_(b)")] }, text(". ok")]],
  ["<https://example.org>", [{ kind: "link", address: "https://example.org/", shown: "https://example.org", inside: [text("https://example.org")] }]],
  ["[not a link] (x)", [text("[not a link] (x)")]],
])("%j is read as written", (said, inside) => {
  expect(parse(said)).toEqual([{ kind: "paragraph", inside }]);
});

test("line breaks stay, and a line under a line makes it a heading", () => {
  expect(parse("a\nb")).toEqual([paragraph(text("a\nb"))]);
  expect(parse("Title\n===\nx\n---")).toEqual([
    { kind: "heading", level: 1, inside: [text("Title")] },
    { kind: "heading", level: 2, inside: [text("x")] },
  ]);
  expect(parse("a\n\n---\n\n    code\n\nb")).toEqual([paragraph(text("a")), { kind: "rule" }, { kind: "code", language: "", text: "code" }, paragraph(text("b"))]);
});

test("a fence that is never closed holds the rest", () => {
  expect(parse("x\n```js\nlet a")).toEqual([paragraph(text("x")), { kind: "code", language: "js", text: "let a" }]);
});

test("texts made to hurt are read in a moment, or shown as they are", () => {
  const began = performance.now();
  for (const hurt of ["> ".repeat(5000), "*a ".repeat(10_000), "[".repeat(20_000), "`".repeat(30_000), "- ".repeat(5000), "|a".repeat(10_000), `${"a*_".repeat(9000)}b`, "![".repeat(9000), "<a ".repeat(9000), `${" ".repeat(30_000)}a`, "**a ".repeat(9000) + "b_ ".repeat(9000), "*a [".repeat(9000), "](".repeat(20_000), "](a ".repeat(9000), "a\n".repeat(20_000), "- a\n".repeat(9000), "1. a\n\n".repeat(6000), "|a|b|\n|-|-|\n".repeat(3000), "http://".repeat(7000), "\\".repeat(50_000), "# ".repeat(20_000), "~~~\n".repeat(9000), `[${"a".repeat(50_000)}`, "_".repeat(59_000), "a`b``c```d".repeat(5000)]) {
    expect(parse(hurt).length).toBeGreaterThan(0);
  }
  expect(performance.now() - began).toBeLessThan(3000);
});

test("what is too long to be set is left as it is", () => {
  const long = `# ${"x".repeat(MOST_MARKDOWN)}`;
  expect(isMarkdown(long)).toBe(false);
  expect(parse(long)).toEqual([paragraph(text(long))]);
});

test("plain prose is not taken for Markdown", () => {
  expect(["Hello there.", "2 * 3 * 4", "a_b_c", "email me", "C:\\dir"].map(isMarkdown)).toEqual([false, false, false, false, false]);
  expect(["# a", "- a", "1. a", "**a**", "`a`", "```\na\n```", "[a](b)", "> a", "so *it* is"].every(isMarkdown)).toBe(true);
});
