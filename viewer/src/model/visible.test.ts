import { expect, test } from "vitest";
import { foreignPieces, isForeign, isPlain, safeLink, spelled, visible } from "./visible.ts";

test("W-12: what reorders or hides text is told by name", () => {
  expect(visible("pay \u202eecila\u202c now")).toEqual([
    { text: "pay " },
    { text: "\u202e", hidden: "RLO" },
    { text: "ecila" },
    { text: "\u202c", hidden: "PDF" },
    { text: " now" },
  ]);
});

test("W-12: asking twice gives the same answer twice", () => {
  const text = "a\u200bb\u200bc";
  expect([isPlain(text), isPlain(text), visible(text).length, visible(text).length]).toEqual([false, false, 5, 5]);
});

test("W-12: tag characters, which no one sees and models read, are spelled out", () => {
  expect(spelled("hi\u{e0041}\u{e0001}")).toBe("hi⟨TAG A⟩⟨U+E0001⟩");
});

test("W-12: control characters are shown, tabs and line ends are not", () => {
  expect(spelled("a\tb\nc\r\n\u0007\u001b[31m\u0000")).toBe("a\tb\nc\r\n⟨U+0007⟩⟨U+001B⟩[31m⟨U+0000⟩");
});

test("a family of pictures keeps its joiners; a joiner anywhere else is shown", () => {
  expect(isPlain("👩‍👩‍👧")).toBe(false);
  expect(visible("👩‍👩‍👧").some((piece) => piece.hidden)).toBe(false);
  expect(spelled("ad\u200dmin")).toBe("ad⟨ZWJ⟩min");
});

test("plain text in any script is plain", () => {
  expect(["naïve", "日本語", "مرحبا", "Привет", "a – b … “c”"].every(isPlain)).toBe(true);
});

test("W-12: a tool's name with a letter from elsewhere is pointed out", () => {
  expect(isForeign("read_file")).toBe(false);
  expect(foreignPieces("rеad_file")).toEqual([
    { text: "r", foreign: false },
    { text: "е", foreign: true },
    { text: "ad_file", foreign: false },
  ]);
});

test.each([
  ["https://example.org/a?b#c", "https://example.org/a?b#c"],
  [" HTTP://example.org ", "http://example.org/"],
  ["javascript:alert(1)", null],
  ["JaVaScRiPt:alert(1)", null],
  ["java\nscript:alert(1)", null],
  ["data:text/html,<script>alert(1)</script>", null],
  ["vbscript:x", null],
  ["//example.org", null],
  ["/api/session", null],
  ["file:///etc/passwd", null],
  ["https://", null],
  ["https://exa\u202emple.org", null],
  ["blob:https://example.org/x", null],
])("W-07: a link to %j goes to %j", (address, goes) => {
  expect(safeLink(address)).toBe(goes);
});
