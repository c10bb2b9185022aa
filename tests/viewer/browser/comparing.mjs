/** Any two, against each other. */

import { equal, ok, until } from "./expect.mjs";

export const comparing = {
  "c holds on to one request and shows what is different in every other [2: diff of any two]": {
    run: async ({ page, open, world, ask }) => {
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      await open(`#/${world.agent}/graph/${rows[3].id}`);
      await page.locator(".detail-title").waitFor();
      await page.keyboard.press("c");
      await page.getByText("Pinned for comparison").waitFor();
      await page.locator(".row[id]").nth(7).click();
      await page.getByRole("heading", { name: "Comparison" }).waitFor();
      const wanted = await ask(`/api/compare?left=${world.agent}:${rows[3].id}&right=${world.agent}:${rows[7].id}`);
      ok((await page.locator(".counters").textContent()).startsWith(`+${wanted.diff.added} added`), "counted");
      equal(await page.locator(".run .card").count(), wanted.diff.added + wanted.diff.deleted);
      await page.keyboard.press("s");
      await page.locator(".side-by-side").waitFor();
      ok(page.url().includes("mode=side") && page.url().includes(`cmp=${world.agent}%3A${rows[3].id}`), page.url());
      await until(async () => (await page.locator(".side-by-side .card").count()) === wanted.diff.added + wanted.diff.deleted, "cards on both sides");
      await page.getByRole("button", { name: "Swap" }).click();
      await until(async () => (await page.locator(".counters").textContent()).startsWith(`+${wanted.diff.deleted} added`), "swapped");
      await page.keyboard.press("Escape");
      await page.locator(".tabs").first().waitFor();
      ok(!page.url().includes("cmp="), "no longer comparing");
    },
  },

  "two branches of a thread stand side by side [2]": {
    run: async ({ page, open, world, shot }) => {
      await open(`#/${world.threads}/graph/${world.turns.right}?cmp=${world.threads}:${world.turns.left}&mode=side`);
      await page.locator(".side-by-side .card").first().waitFor();
      const both = await page.locator(".side-by-side .card .card-role").allTextContents();
      ok(both.length >= 2, both.join());
      await page.getByText("the same on both sides").click();
      await until(async () => (await page.locator(".side-both .card").count()) >= 1, "what they share");
      await shot("compare-side");
    },
  },

  "a turn can be compared with a captured request": {
    run: async ({ page, open, world, ask }) => {
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      await open(`#/${world.threads}/graph/${world.turns.report}?cmp=${world.agent}:${rows[0].id}`);
      await page.locator(".counters").waitFor();
      ok((await page.locator(".sides").textContent()).includes("agent.jsonl"), "both sources are named");
    },
  },
};
