import { expect, test } from "vitest";
import { highlight, MOST_CODE } from "./highlight.ts";

const inks = (code: string, language: string): string[] =>
  highlight(code, language)
    .filter((span) => span.ink !== "plain")
    .map((span) => `${span.ink}:${span.text}`);

test("comments, strings, numbers, keywords and calls have their colours", () => {
  expect(inks('def f(x):  # why\n    return g("a\\"b", 0x1F)', "python")).toEqual([
    "keyword:def",
    "name:f",
    "comment:# why",
    "keyword:return",
    "name:g",
    'string:"a\\"b"',
    "number:0x1F",
  ]);
  expect(inks("/* a\nb */ const x = `t\n${y}`; // z", "ts")).toEqual(["comment:/* a\nb */", "keyword:const", "string:`t\n${y}`", "comment:// z"]);
  expect(inks("SELECT 1 -- x", "sql")).toEqual(["keyword:SELECT", "number:1", "comment:-- x"]);
  expect(inks('{"a": "b", "n": 1.5e3}', "json")).toEqual(['key:"a"', 'string:"b"', 'key:"n"', "number:1.5e3"]);
});

test("a diff is coloured by its lines", () => {
  expect(inks("@@ -1 +1 @@\n-a\n+b\n c", "diff")).toEqual(["meta:@@ -1 +1 @@\n", "deleted:-a\n", "added:+b\n"]);
});

test("whatever the language, all of the text is there", () => {
  const nasty = "\"open 'str /* com ``` \\ \n # // -- <!-- é 😀 \u0000 end";
  for (const language of ["", "python", "c", "rust", "sql", "yaml", "json", "css", "html", "lisp", "haskell", "bash", "diff", "no such", "constructor", "__proto__"]) {
    expect(highlight(nasty, language).map((span) => span.text).join("")).toBe(nasty);
  }
});

test("time grows with the text, not faster", () => {
  const began = performance.now();
  for (const hurt of ["\"".repeat(MOST_CODE), "/*".repeat(MOST_CODE / 2), "a".repeat(MOST_CODE), "'''".repeat(MOST_CODE / 3)]) highlight(hurt, "python");
  expect(performance.now() - began).toBeLessThan(3000);
  expect(highlight("x".repeat(MOST_CODE + 1), "python")).toHaveLength(1);
});
