/** Nothing a model, a tool or a file says is ever more than text. */

import { equal, ok, until } from "./expect.mjs";

const marks = (page) => page.evaluate(() => [globalThis.__xss ?? null, document.querySelectorAll("script:not([src]):not([type='application/json']), iframe, object, embed, base, link[rel=preload], [onerror], [onload], [onclick], [onfocus]").length]);

/** Go to one row after the other, and wait until each is drawn: its answer, its tools or its details. */
async function visitAll([source, ids]) {
  let visited = 0;
  for (const [at, id] of ids.entries()) {
    const tab = at % 10 === 3 ? "tools" : at % 10 === 7 ? "details" : "messages";
    location.hash = `#/${source}/graph/${id}?tab=${tab}`;
    const drawn = { tools: ".tool", details: ".details", messages: ".response .card-body:not([aria-busy]):not(.card-ghost)" }[tab];
    for (let wait = 0; !document.querySelector(`.detail[data-row="${id}"][aria-busy="false"] ${drawn}`); wait += 1) {
      if (wait > 1000) throw new Error(`row ${at} was not drawn`);
      await new Promise((go) => setTimeout(go, 5));
    }
    if (globalThis.__xss) throw new Error(`row ${at} ran a script`);
    visited += 1;
  }
  return visited;
}

export const safe = {
  "two hundred payloads in every field run nothing and load nothing [W-07, W-08]": {
    timeout: 60_000,
    run: async ({ page, open, world, ask }) => {
      await open(`#/${world.hostile}`);
      await page.locator(".row.is-selected").waitFor();
      const { rows } = await ask(`/api/sources/${world.hostile}/graph?limit=200`);
      equal(rows.length, 200);
      // Within the page: two hundred rows, each with its messages, tools and details, as fast as they can be drawn.
      const visited = await page.evaluate(visitAll, [world.hostile, rows.map((row) => row.id)]);
      equal(visited, 200);
      equal(await marks(page), [null, 0]);
      equal(page.context().pages().length, 1, "no window was opened");
    },
  },

  "payloads in a thread, set as Markdown or as written, run nothing [W-07]": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.hostileThreads}/graph/${world.turns.hostile}`);
      await until(async () => (await page.locator(".run .card").count()) === 200, "all of them");
      for (let at = 0; at < 200; at += 8) await page.locator(".run .card").nth(at).scrollIntoViewIfNeeded();
      await page.keyboard.press("m");
      for (let at = 199; at >= 0; at -= 16) await page.locator(".run .card").nth(at).scrollIntoViewIfNeeded();
      equal(await marks(page), [null, 0]);
      for (const address of await page.locator(".run a[href]").evaluateAll((links) => links.map((link) => link.getAttribute("href")))) {
        ok(/^https?:\/\//.test(address), `a link to ${address}`);
      }
    },
  },

  "search results, comparisons and charts of payloads run nothing [W-07]": {
    run: async ({ page, open, world, ask }) => {
      await open(`#/${world.hostile}/find?q=script`);
      await page.locator(".hit").first().waitFor();
      await page.keyboard.press("j");
      const { rows } = await ask(`/api/sources/${world.hostile}/graph?limit=10`);
      await page.goto(`${world.origin}/#/${world.hostile}/graph/${rows[2].id}?cmp=${world.hostile}:${rows[1].id}&mode=side`);
      await page.locator(".side-by-side .card").first().waitFor();
      await page.goto(`${world.origin}/#/${world.hostile}/understand`);
      await page.locator(".chart").first().waitFor();
      await page.getByRole("tab", { name: "By model" }).click();
      await page.locator(".stat-table tbody tr").first().waitFor();
      await page.goto(`${world.origin}/#/${world.hostile}/threads`);
      await page.locator(".thread").first().waitFor();
      equal(await marks(page), [null, 0]);
    },
  },

  "what comes in the address is only ever looked for [W-07]": {
    mayFail: [/40[04]/],
    run: async ({ page, open, world }) => {
      for (const payload of world.payloads.slice(0, 12)) {
        const text = encodeURIComponent(payload);
        await open(`#/${world.agent}/find/${text}?q=${text}&model=${text}&tool=${text}&m=${text}&tree=${text}&cmp=${text}`);
        await page.locator(".found, .state").first().waitFor();
      }
      equal(await marks(page), [null, 0]);
    },
  },

  "characters that hide or reorder are shown by name; names in two scripts are marked [W-12]": {
    run: async ({ page, open, world, ask }) => {
      const { rows } = await ask(`/api/sources/${world.hostile}/graph?limit=200`);
      const at = world.payloads.findIndex((payload) => payload.includes("\u202e"));
      await open(`#/${world.hostile}/graph/${rows[at].id}`);
      await page.locator(".run .hidden-mark").first().waitFor();
      ok((await page.locator(".run .hidden-mark").allTextContents()).includes("RLO"), "by name");
      const raw = await page.locator("body").evaluate((body) => body.innerText.includes("\u202e"));
      ok(!raw, "and never obeyed");
      const foreign = world.payloads.findIndex((payload) => payload.includes("\u0130"));
      await page.goto(`${world.origin}/#/${world.hostile}/graph/${rows[foreign].id}?tab=tools`);
      await page.locator(".tool .foreign-mark").first().waitFor();
    },
  },

  "the page's own rules: no inline script, no framing, no referrer, nothing stored of the token [W-01, W-10, W-13]": {
    run: async ({ page, open, world }) => {
      const answered = page.waitForResponse((response) => response.url() === `${world.origin}/`);
      await open(`#/${world.agent}`);
      const headers = (await answered).headers();
      const policy = headers["content-security-policy"];
      ok(/script-src 'self'(;|$)/.test(policy) && !policy.includes("unsafe-inline") && policy.includes("frame-ancestors 'none'"), policy);
      equal([headers["x-content-type-options"], headers["referrer-policy"]], ["nosniff", "no-referrer"]);
      const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
      ok(!kept.includes(world.token), "the token is kept nowhere that a script could read");
      const blocked = await page.evaluate(() => {
        const script = document.createElement("script");
        script.textContent = "globalThis.__inline = 1";
        document.head.append(script);
        return globalThis.__inline ?? null;
      });
      equal(blocked, null, "an inline script would not run");
    },
    mayFail: [/Content Security Policy|inline script/],
  },
};
