import { expect, test } from "vitest";
import { indented, parseJson, pathsWith, sizeOf } from "./json.ts";

const read = (text: string): NonNullable<ReturnType<typeof parseJson>> => {
  const node = parseJson(text);
  if (node === null) throw new Error(`not JSON: ${text}`);
  return node;
};

test("numbers keep their digits, keys their order and their doubles", () => {
  const text = '{"b": 12345678901234567890, "10": 1.0, "9": -0, "b": 1e400, "__proto__": null}';
  expect(indented(read(text))).toBe('{\n  "b": 12345678901234567890,\n  "10": 1.0,\n  "9": -0,\n  "b": 1e400,\n  "__proto__": null\n}');
});

test.each(['{"a":[1,{"b":"c\\n\\u00e9\\ud83d\\ude00"}],"d":{},"e":[],"f":true}', "[]", '"x"', "  1 ", "null"])("%s is read as JSON.parse reads it", (text) => {
  expect(JSON.parse(indented(read(text)))).toEqual(JSON.parse(text));
});

test.each(["", "{", '{"a":1,}', "[1 2]", "01", "'a'", '{"a"}', "nul", '"a', "[1]x", '{"a":"\u0001"}', "NaN"])("%j is not JSON", (text) => {
  expect(parseJson(text)).toBeNull();
});

test("JSON nested too deep to walk is text, not a crash", () => {
  expect(parseJson("[".repeat(200_000) + "]".repeat(200_000))).toBeNull();
});

test("searching gives the places that fit and what to unfold to see them", () => {
  const node = read('{"a":{"Needle":1},"b":[{"c":"a needle here"}],"d":2}');
  const found = pathsWith(node, "needle");
  expect([...found.hits]).toEqual([".0.0", ".1.0.0"]);
  expect([...found.open].sort()).toEqual(["", ".0", ".1", ".1.0"]);
  expect(pathsWith(node, "").hits.size).toBe(0);
});

test("size counts every value and stops counting when it is enough", () => {
  expect(sizeOf(read('{"a":[1,2,3],"b":{}}'))).toBe(6);
  expect(sizeOf(read(JSON.stringify(Array.from({ length: 5000 }, () => 0))), 100)).toBe(100);
});
