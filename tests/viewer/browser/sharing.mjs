/** One file that opens without a server. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { equal, ok, until } from "./expect.mjs";

async function exported({ page, open, world }, hash, choose) {
  await open(hash);
  await page.locator(".detail-title").waitFor();
  await page.keyboard.press("e");
  const dialog = page.getByRole("dialog", { name: "Export as one HTML file" });
  await dialog.waitFor();
  await choose?.(dialog);
  const waiting = page.waitForEvent("download");
  await dialog.getByRole("button", { name: "Save" }).click();
  const download = await waiting;
  const path = join(world.folder, `export-${Date.now()}.html`);
  await download.saveAs(path);
  return [path, download.suggestedFilename()];
}

export const sharing = {
  "the view is exported as one file, redacted, that opens from disk and asks nobody [7]": {
    run: async (tools) => {
      const { context, world, ask, shot } = tools;
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      const [path, name] = await exported(tools, `#/${world.agent}/graph/${rows[4].id}`, (dialog) => dialog.getByLabel("Everything in").check());
      ok(/^weft-.*\.html$/.test(name), name);
      const file = readFileSync(path, "utf8");
      ok(!file.includes(world.secret), "W: the secret of the recording is not in the file");
      ok(!/(src|href)=["']?https?:/i.test(file.replace(/<script[\s\S]*?<\/script>/g, "")), "nothing is loaded from elsewhere");
      const page = await context.newPage();
      await page.goto(pathToFileURL(path).href);
      await page.locator(".row.is-selected").waitFor();
      equal(await page.locator(".row[id]").count(), rows.length);
      equal(await page.locator(".row.is-selected").getAttribute("aria-posinset"), "5", "what was selected");
      ok((await page.locator(".bar").textContent()).includes("redacted"), "says so");
      await page.keyboard.press("k");
      await page.locator(".response table").waitFor();
      await page.getByRole("tab", { name: /Tools/ }).click();
      await page.locator(".tool-name").first().waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("low water");
      await page.locator(".hit").first().waitFor();
      await page.getByRole("button", { name: "Understand" }).click();
      await page.locator(".chart").first().waitFor();
      await page.getByRole("button", { name: "Conversations" }).click();
      await page.locator(".thread").first().waitFor();
      await shot("exported", page);
    },
  },

  "a comparison is exported as it is shown": {
    run: async (tools) => {
      const { context, world, ask } = tools;
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      const [path] = await exported(tools, `#/${world.agent}/graph/${rows[7].id}?cmp=${world.agent}:${rows[3].id}`);
      const page = await context.newPage();
      await page.goto(pathToFileURL(path).href);
      await page.getByRole("heading", { name: "Comparison" }).waitFor();
      ok((await page.locator(".run .card").count()) > 0, "its differences");
    },
  },

  "an exported file full of payloads runs none of them [W-07]": {
    run: async (tools) => {
      const { context, world } = tools;
      const [path] = await exported(tools, `#/${world.hostile}`, (dialog) => dialog.getByLabel("Everything in").check());
      const page = await context.newPage();
      await page.goto(pathToFileURL(path).href);
      await page.locator(".row.is-selected").waitFor();
      for (let at = 0; at < 6; at += 1) await page.keyboard.press("j");
      await page.locator(".card").first().waitFor();
      equal(await page.evaluate(() => globalThis.__xss ?? null), null);
    },
  },

  "a file of a format this page does not know says so": {
    run: async ({ context, world }) => {
      const built = (name) => readFileSync(join(world.static, "export", name), "utf8");
      const path = join(world.folder, "odd.html");
      writeFileSync(path, `<!doctype html><meta charset=utf-8><div id="app"></div><script type="application/json" id="weft-export">{"format":"weft-export-99"}</script><script>${built("viewer.js")}</script>`);
      const page = await context.newPage();
      await page.goto(pathToFileURL(path).href);
      await page.getByText("format that this page does not know").waitFor();
      await until(async () => (await page.locator("[role=alert]").count()) === 1, "as a failure");
    },
  },
};
