/** Search, and what it all used. */

import { equal, ok, until } from "./expect.mjs";

export const finding = {
  "search finds words in every message, marks them, and is worked with the keyboard alone [5]": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.agent}`);
      await page.locator(".row.is-selected").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("low water");
      await until(() => /q=low\+water/.test(page.url()), "in the address");
      await until(async () => (await page.locator(".hit mark").allTextContents()).some((text) => /water/i.test(text)), "found and marked");
      await page.keyboard.press("Enter");
      await page.keyboard.press("j");
      await page.locator(".hit.is-selected").waitFor();
      const first = page.url();
      await page.keyboard.press("j");
      await until(() => page.url() !== first, "the next hit");
      await page.locator(".card.is-sought").waitFor();
      ok(await page.locator(".card.is-sought").isVisible(), "the message that was found");
      await page.keyboard.press("Escape");
      await page.locator(".row").first().waitFor();
    },
  },

  "filters narrow it: role, model, tool, failed, days [5]": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.agent}/find?q=pier`);
      await page.locator(".hit").first().waitFor();
      const roles = async () => [...new Set(await page.locator(".hit .role-name").allTextContents())];
      ok((await roles()).length > 1, "several roles at first");
      const settled = (what) => until(async () => (await page.locator(".found").count()) === 1 && !(await page.locator(".found").textContent()).includes("looking"), what);
      await page.getByLabel("Role").selectOption("tool_result");
      await until(async () => (await roles()).join() === "tool result", "one role");
      await page.getByLabel("Role").selectOption("");
      await page.getByLabel("Model").selectOption("gpt-5.2");
      await page.getByText("Nothing found").waitFor();
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.locator(".hit").first().waitFor();
      await page.getByRole("textbox", { name: "Tool" }).fill("tide_table");
      await until(() => /tool=tide_table/.test(page.url()), "the tool");
      await settled("by tool");
      await page.getByLabel("failed only").check();
      await until(() => /error=1/.test(page.url()), "failed only");
      await settled("failed");
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.getByLabel("Until").fill("2001-01-01");
      await page.getByText("Nothing found").waitFor();
      await page.getByLabel("Since").fill("2000-01-01");
      await page.getByLabel("Until").fill("2099-01-01");
      await page.locator(".hit").first().waitFor();
    },
  },

  "threads are searched too, and documents' names": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.threads}/find?q=keel`);
      await page.locator(".hit").first().click();
      await page.locator(".card.is-sought").waitFor();
      ok((await page.locator(".card.is-sought").textContent()).includes("keel"), "the message");
    },
  },

  "tokens, cost, time and cache use are added up by day, conversation, model and request [6]": {
    run: async ({ page, open, world, ask, shot }) => {
      await open(`#/${world.agent}/understand`);
      await page.locator(".chart").first().waitFor();
      const stats = await ask(`/api/sources/${world.agent}/stats`);
      equal(await page.locator(".tile-value").first().textContent(), String(stats.totals.requests));
      ok((await page.locator(".chart h3").allTextContents()).includes("Tokens"), "a chart of tokens");
      await shot("understand");
      for (const by of ["By conversation", "By model", "By request"]) {
        await page.getByRole("tab", { name: by }).click();
        await page.locator(".stat-table tbody tr").first().waitFor();
      }
      const groups = await ask(`/api/sources/${world.agent}/stats/request`);
      await until(async () => (await page.locator(".stat-table tbody tr").count()) === groups.total, "a line a request");
      await page.locator(".stat-table .link").first().click();
      await page.locator(".row.is-selected").waitFor();
    },
  },

  "where the prompt cache was missed it says why, and leads there [6]": {
    run: async ({ page, open, world, ask }) => {
      const { misses } = await ask(`/api/sources/${world.agent}/misses`);
      await open(`#/${world.agent}/understand`);
      await until(async () => (await page.locator(".miss-list li").count()) === Math.min(50, misses.length), "all of them");
      const changed = misses.find((miss) => miss.reason === "tools_changed");
      ok(changed, `a recording whose tools change has such a miss: ${misses.map((miss) => miss.reason)}`);
      const line = page.locator(".miss-list li", { hasText: "tools changed" }).first();
      ok((await line.textContent()).includes(changed.detail), "the reason in words");
      await line.getByRole("button").click();
      await page.locator(".banner-warn", { hasText: "Prompt cache missed" }).waitFor();
    },
  },
};
