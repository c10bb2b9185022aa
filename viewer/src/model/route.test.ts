import { expect, test } from "vitest";
import { bounds, HOME, isFiltered, NO_FILTERS, read, splitRef, write, type Route } from "./route.ts";

const full: Route = {
  source: "s1",
  screen: "find",
  row: "r/1 ?&#é",
  tree: "r0",
  tab: "tools",
  compare: "s2:r9",
  mode: "side",
  message: "m3",
  filters: { text: "two words & more=#", role: "user", model: "a/b:c", tool: "read_file", error: true, since: "2026-03-01", until: "2026-03-31" },
};

test("what is in the address comes back as it went", () => {
  expect(read(write(full))).toEqual(full);
  expect(read(write(HOME))).toEqual(HOME);
});

test("only what differs from the usual is written", () => {
  expect(write(HOME)).toBe("#/");
  expect(write({ ...HOME, source: "s1" })).toBe("#/s1");
  expect(write({ ...HOME, source: "s1", row: "r2" })).toBe("#/s1/graph/r2");
  expect(write({ ...HOME, screen: "understand" })).toBe("#//understand");
  expect(write({ ...HOME, filters: { ...NO_FILTERS, text: "a b" } })).toBe("#/?q=a+b");
});

test.each(["", "#", "#/", "#nonsense?tab=x&mode=y&cmp=z&since=yesterday&until=2026-99-99", "#/%E0%A4%A", "#/a/b/c/d/e?&&=&", "#?%"])("an address typed by hand, %j, opens something", (address) => {
  const route = read(address);
  expect([route.screen, route.tab, route.mode, route.compare, route.filters.since, route.filters.until]).toEqual(["graph", "messages", "diff", null, "", ""]);
});

test("filters know whether there are any", () => {
  expect(isFiltered(NO_FILTERS)).toBe(false);
  expect(isFiltered({ ...NO_FILTERS, error: true })).toBe(true);
});

test("days are whole days where the person is", () => {
  const { since, until } = bounds({ ...NO_FILTERS, since: "2026-03-01", until: "2026-03-01" });
  expect(since).toBe(new Date(2026, 2, 1).getTime());
  expect(until).toBe(new Date(2026, 2, 2).getTime() - 1);
  expect(bounds(NO_FILTERS)).toEqual({ since: null, until: null });
});

test("a place in another source is its source and its row", () => {
  expect(splitRef("s1:r:2")).toEqual({ source: "s1", row: "r:2" });
});
