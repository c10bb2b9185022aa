/** The list, the graph, the keys, the head, the theme, the states. */

import { equal, ok, until } from "./expect.mjs";

export const rowsOf = async (page) =>
  page.locator(".row[id]").evaluateAll((rows) => rows.map((row) => row.querySelector(".row-gist").textContent));

const selected = (page) => page.locator(".row.is-selected .row-gist").first().textContent();
const selectedAt = (page) => page.locator(".row.is-selected").first().getAttribute("aria-posinset").then(Number);

export const looking = {
  "the first request is selected and every row says what it is [11: list, selection, header]": {
    run: async ({ page, open, world, ask }) => {
      await open(`#/${world.agent}`);
      await page.locator(".row.is-selected").waitFor();
      const graph = await ask(`/api/sources/${world.agent}/graph`);
      equal(await rowsOf(page), graph.rows.map((row) => row.gist), "gists");
      equal(await selectedAt(page), 1);
      equal(await page.locator(".detail-title").textContent(), "claude-sonnet-4-6");
      const facts = await page.locator(".facts").textContent();
      ok(/at\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.test(facts) && /took\d+ms/.test(facts), `facts: ${facts}`);
      const bottom = await page.locator(".row-bottom").nth(6).textContent();
      ok(bottom.includes("user") && bottom.includes("claude-sonnet-4-6") && bottom.includes("failed"), bottom);
      ok(!page.url().includes("token"), "the token is gone from the address");
    },
  },

  "the graph is drawn as it was laid out [C-50, 9.6, 9.7]": {
    run: async ({ page, open, world, ask }) => {
      await open(`#/${world.agent}`);
      await page.locator(".node").first().waitFor();
      const graph = await ask(`/api/sources/${world.agent}/graph`);
      const nodes = await page.locator(".node-dot").evaluateAll((dots) => dots.map((dot) => [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))]));
      equal(nodes, graph.rows.map((row) => [14 + 20 * row.column, 48 * row.row + 24]), "nodes");
      const curves = await page.locator(".graph g > path").evaluateAll((paths) => paths.map((path) => path.getAttribute("d")));
      const wanted = graph.lines.flatMap((line) => [...(line.curve ? [numbers(line.curve)] : []), ...(line.to_y > line.from_y ? [numbers(`${line.x} ${line.from_y} ${line.to_y}`)] : [])]);
      equal(curves.map(numbers), wanted, "lines");
      const height = await page.locator(".row").first().evaluate((row) => row.getBoundingClientRect().height);
      equal(height, 48);
    },
  },

  "keys move through the rows: arrows, j and k, space to the largest child, p to the parent [11: selection]": {
    run: async ({ page, open, world, ask }) => {
      await open(`#/${world.agent}`);
      await page.locator(".row.is-selected").waitFor();
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      const steps = [["j", 2], ["ArrowDown", 3], ["k", 2], ["ArrowUp", 1], ["k", 1], ["End", rows.length], ["g", 1]];
      for (const [key, at] of steps) {
        await page.keyboard.press(key);
        await until(async () => (await selectedAt(page)) === at, `${key} to ${at}`);
      }
      for (let at = 0; at < 5; at += 1) await page.keyboard.press("j");
      await until(async () => (await selectedAt(page)) === 6, "no key is lost");
      await page.keyboard.press("g");
      await until(async () => (await selectedAt(page)) === 1, "g");
      const path = [0];
      while (rows[path.at(-1)].child_id) path.push(rows.findIndex((row) => row.id === rows[path.at(-1)].child_id));
      for (const at of path.slice(1)) {
        await page.keyboard.press(" ");
        await until(async () => (await selectedAt(page)) === at + 1, `space to ${at + 1}`);
      }
      await page.keyboard.press("p");
      await until(async () => (await selectedAt(page)) === rows.findIndex((row) => row.id === rows[path.at(-1)].parent_id) + 1, "p to the parent");
      const before = await selected(page);
      await page.keyboard.press("/");
      await page.keyboard.type("jjk");
      equal(await page.locator("#search").inputValue(), "jjk", "typed into the field");
      await page.keyboard.press("Escape");
      await until(async () => (await selected(page)) === before, "the selection stayed");
    },
  },

  "a click selects, and the address says what is selected": {
    run: async ({ page, open, world, ask }) => {
      await open(`#/${world.agent}`);
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      await page.locator(".row[id]").nth(3).click();
      await until(() => page.url().endsWith(`#/${world.agent}/graph/${rows[3].id}`), "the address");
      await page.locator(".row[id]").nth(5).click();
      await page.goBack();
      await until(async () => (await selectedAt(page)) === 4, "back");
    },
  },

  "a deep link opens the same view again: row, tab, comparison, filters": {
    run: async ({ page, context, open, world, ask }) => {
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      await open(`#/${world.agent}/graph/${rows[5].id}?tab=tools`);
      await page.locator(".tool-name").first().waitFor();
      equal(await page.locator("[role=tab][aria-selected=true]").first().textContent().then((text) => text.startsWith("Tools")), true);
      equal(await selectedAt(page), 6);
      const other = await context.newPage();
      await other.goto(`${world.origin}/#/${world.agent}/graph/${rows[7].id}?cmp=${world.agent}:${rows[3].id}&mode=side`);
      await other.locator(".side-by-side .card").first().waitFor();
      await other.goto(`${world.origin}/#/${world.agent}/find?q=pier&role=tool_result`);
      await other.locator(".hit").first().waitFor();
      equal(await other.locator("#search").inputValue(), "pier");
      equal(await other.locator(".filters select").first().inputValue(), "tool_result");
    },
  },

  "the theme is the system's until one is chosen, and the choice is remembered [11: theme]": {
    theme: "dark",
    run: async ({ page, open, world }) => {
      await open(`#/${world.agent}`);
      const theme = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
      equal(await theme(), ["dark", "rgb(19, 20, 23)"]);
      await page.emulateMedia({ colorScheme: "light" });
      await until(async () => (await theme())[0] === "light", "following the system");
      await page.keyboard.press("d");
      await until(async () => (await theme())[0] === "dark", "the other theme");
      await page.reload();
      await page.locator(".page").waitFor();
      equal((await theme())[0], "dark", "remembered");
      await page.locator(".row.is-selected").waitFor();
      await page.getByRole("button", { name: "Use the light theme" }).click();
      await until(async () => (await theme())[0] === "light", "the first one again");
    },
  },

  "a cooked file shows what the recording it was made of shows, but for what only a record knows [C-15]": {
    run: async ({ page, open, world, ask }) => {
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      const cooked = await ask(`/api/sources/${world.cooked}/graph`);
      equal(cooked.rows.map((row) => [row.gist, row.model, row.column]), rows.map((row) => [row.gist, row.model, row.column]));
      await open(`#/${world.cooked}/graph/${cooked.rows[3].id}`);
      await page.locator(".response table").waitFor();
      equal(await page.locator(".row[id]").count(), rows.length);
      ok((await page.locator(".detail-title").textContent()).includes(rows[3].model), "its model");
      await page.locator(".actions").getByRole("button", { name: "Copy" }).click();
      await page.getByRole("menuitem", { name: "Copy as JSON" }).click();
      await until(async () => (await page.evaluate(() => navigator.clipboard.readText())).includes("Kittiwake"), "copied as JSON");
    },
  },

  "a recording that a store keeps is opened like any other [1]": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.kept}`);
      await page.locator(".row.is-selected").waitFor();
      equal(await page.locator(".row[id]").count(), 1);
      await until(async () => (await page.locator(".response .card-body").textContent()).includes("pong"), "the answer");
      ok((await page.locator(".detail").textContent()).includes("openai"), "and who gave it");
    },
  },

  "an empty recording, a wrong address and a page without its key say so [11: states]": {
    mayFail: [/40[34]/],
    run: async ({ page, context, open, world }) => {
      await open(`#/${world.empty}`);
      await page.getByText("No requests yet").waitFor();
      await page.goto(`${world.origin}/#/${world.agent}/graph/no-such-row`);
      await page.getByText("could not be loaded").waitFor();
      await page.getByRole("button", { name: "Try again" }).waitFor();
      await context.clearCookies();
      await page.goto("about:blank");
      await page.goto(`${world.origin}/`);
      await page.getByText("This page needs its key").waitFor();
      await page.goto("about:blank");
      await page.goto(`${world.origin}/#token=wrong`);
      await page.getByRole("alert").waitFor();
    },
  },

  "when weft does not answer, the page says so, and tries again when asked [11: states]": {
    mayFail: [/net::ERR|Failed to load/],
    run: async ({ page, context, open, world }) => {
      await open(`#/${world.agent}`);
      await page.locator(".response .card").first().waitFor();
      await context.setOffline(true);
      await page.keyboard.press("j");
      await page.getByText("weft does not answer").waitFor();
      await context.setOffline(false);
      await page.getByRole("button", { name: "Try again" }).click();
      await page.locator(".response .card").first().waitFor();
    },
  },

  "`?` shows the keys, and escape closes": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.agent}`);
      await page.locator(".row.is-selected").waitFor();
      await page.keyboard.press("?");
      const dialog = page.getByRole("dialog", { name: "Keys" });
      await dialog.getByText("fork and run").waitFor();
      const at = await selectedAt(page);
      await page.keyboard.press("j");
      equal(await selectedAt(page), at, "keys rest while a dialog is open");
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    },
  },

  "the panes can be parted elsewhere, with the mouse or the keyboard": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.agent}`);
      await page.locator(".row.is-selected").waitFor();
      const bar = page.getByRole("separator");
      const width = () => page.locator(".split-left").evaluate((pane) => pane.clientWidth);
      const before = await width();
      await bar.focus();
      await page.keyboard.press("ArrowRight");
      await until(async () => (await width()) === before + 24, "wider");
      await page.reload();
      await page.locator(".row.is-selected").waitFor();
      equal(await width(), before + 24, "remembered");
    },
  },
};

function numbers(path) {
  return (path.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
}
