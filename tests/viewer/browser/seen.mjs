/** How it looks: both themes, both widths, no serious complaint of axe; and the pictures of the documentation. */

import { equal, ok, until } from "./expect.mjs";

const SCREENS = {
  graph: async ({ page, rows, world }, go) => {
    await go(`#/${world.agent}/graph/${rows[3].id}`);
    await page.locator(".response table").waitFor();
  },
  details: async ({ page, rows, world }, go) => {
    await go(`#/${world.agent}/graph/${rows[1].id}?tab=tools`);
    await page.locator(".tool").first().waitFor();
  },
  compare: async ({ page, rows, world }, go) => {
    await go(`#/${world.agent}/graph/${rows[5].id}?cmp=${world.agent}:${rows[7].id}&mode=side`);
    await page.locator(".side-by-side .card-body").first().waitFor();
  },
  find: async ({ page, world }, go) => {
    await go(`#/${world.agent}/find?q=pier`);
    await page.locator(".hit").first().waitFor();
  },
  understand: async ({ page, world }, go) => {
    await go(`#/${world.agent}/understand`);
    await page.locator(".chart").first().waitFor();
  },
  threads: async ({ page, world }, go) => {
    await go(`#/${world.threads}/threads/${world.turns.report}`);
    await page.locator(".attachment").first().waitFor();
  },
};

const GROUND = { light: "rgb(246, 245, 242)", dark: "rgb(19, 20, 23)" };

function looks(width, theme) {
  return {
    width,
    theme,
    timeout: 15_000,
    run: async (tools) => {
      const { page, open, world, ask, axe, shot } = tools;
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      await open(`#/${world.agent}`);
      await page.locator(".row.is-selected").waitFor();
      const complaints = [];
      const check = async (name) => {
        await page.waitForTimeout(60);
        const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        if (ground !== GROUND[theme]) complaints.push(`${name}: ${ground} is not the ground of the ${theme} theme`);
        await shot(`${name}-${width}-${theme}`);
        complaints.push(...(await axe()).map((each) => `${name}: ${each}`));
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (wider > 0) complaints.push(`${name}: ${wider} px too wide`);
      };
      if (width < 760) await check("list");
      for (const [name, visit] of Object.entries(SCREENS)) {
        await visit({ ...tools, rows }, (hash) => page.goto(`${world.origin}/${hash}`));
        await check(name);
      }
      await page.goto(`${world.origin}/#/${world.agent}/graph/${rows[3].id}`);
      await page.locator(".detail-title").waitFor();
      for (const [key, name, dialog] of [["?", "help", "Keys"], ["f", "fork", "Fork and run"], ["e", "export", "Export as one HTML file"]]) {
        await page.keyboard.press(key);
        await page.getByRole("dialog", { name: dialog }).waitFor();
        if (key === "f") await page.locator(".fork-message").first().waitFor();
        await check(name);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog", { name: dialog }).waitFor({ state: "detached" });
      }
      equal(complaints, []);
    },
  };
}

export const seen = {
  "axe finds nothing serious at 1280 px, light": looks(1280, "light"),
  "axe finds nothing serious at 1280 px, dark": looks(1280, "dark"),
  "axe finds nothing serious at 390 px, light": looks(390, "light"),
  "axe finds nothing serious at 390 px, dark": looks(390, "dark"),

  "at 390 px the list leads to a request and back": {
    width: 390,
    run: async ({ page, open, world }) => {
      await open(`#/${world.agent}`);
      const list = page.locator(".virtual");
      await list.waitFor();
      ok(!(await page.locator(".detail").isVisible()), "the list alone");
      await page.locator(".row[id]").nth(2).click();
      await page.locator(".detail").waitFor();
      ok(!(await list.isVisible()), "the request alone");
      await page.getByRole("button", { name: "Back to the list" }).click();
      await until(() => list.isVisible(), "the list again");
    },
  },

  "everything can be reached with the tab key, in an order that makes sense": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.agent}`);
      await page.locator(".row.is-selected").waitFor();
      await page.locator(".response .card-body:not([aria-busy])").first().waitFor();
      await page.evaluate(() => document.activeElement?.blur());
      const seenNames = [];
      for (let at = 0; at < 26; at += 1) {
        await page.keyboard.press("Tab");
        seenNames.push(await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim().slice(0, 30)));
      }
      const wanted = ["Skip to the contents", "agent.jsonl", "Graph", "Search all messages", "Keys", "11 requests, in order of time", "Width of the list", "Fork", "Messages"];
      const places = wanted.map((name) => seenNames.findIndex((each) => each.startsWith(name)));
      ok(places.every((place) => place !== -1), `${wanted[places.indexOf(-1)]} not reached: ${seenNames.join(" | ")}`);
      equal(places, [...places].sort((a, b) => a - b), "in order");
    },
  },
};
