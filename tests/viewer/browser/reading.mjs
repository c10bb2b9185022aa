/** One request or turn: diff, cards, tools, answers, documents. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { equal, ok, until } from "./expect.mjs";

const rowAt = async ({ ask, world }, at) => (await ask(`/api/sources/${world.agent}/graph`)).rows[at];

async function openRow(tools, at, rest = "") {
  const row = await rowAt(tools, at);
  await tools.open(`#/${tools.world.agent}/graph/${row.id}${rest}`);
  await tools.page.locator(".counters, .tools, .details, .state-empty").first().waitFor();
  return row;
}

const cards = (page, within = ".run") =>
  page.locator(`${within} .card`).evaluateAll((all) => all.map((card) => [card.querySelector(".card-role").textContent, [...card.classList].find((name) => name.startsWith("op-")) ?? ""]));

export const reading = {
  "messages are a diff against the parent, unchanged ones folded to one line [C-51, C-52]": {
    run: async (tools) => {
      const { page, ask, world } = tools;
      const row = await openRow(tools, 1);
      const view = await ask(`/api/sources/${world.agent}/rows/${row.id}`);
      equal(await page.locator(".counters").textContent().then((text) => text.replace(/since.*/, "")), `+${view.diff.added} added−${view.diff.deleted} deleted=${view.diff.unchanged} unchanged`);
      equal(await cards(page), [["Tool result", "op-added"]]);
      const fold = page.locator(".run-fold").first();
      equal(await fold.textContent(), `${view.diff.unchanged} unchanged messages`);
      await fold.click();
      await until(async () => (await cards(page)).length === view.diff.unchanged + 1, "unfolded");
      equal((await cards(page)).map(([role]) => role), ["System", "User", "Thinking", "Tool call", "Tool result"]);
      await fold.click();
      await until(async () => (await cards(page)).length === 1, "folded again");
    },
  },

  "what the parent had and this one has not is marked as deleted": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 8);
      ok((await cards(page)).some(([, op]) => op === "op-deleted"), JSON.stringify(await cards(page)));
      equal(await page.locator(".op-deleted .card-op").first().textContent(), "−");
      ok(/−2 deleted/.test(await page.locator(".counters").textContent()), "counted");
    },
  },

  "long texts are folded, and one is unfolded at a time [11: message card]": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 2);
      await page.locator(".run-fold").first().click();
      const folds = page.locator(".card .fold");
      await until(async () => (await folds.count()) >= 2, "two long texts");
      const open = () => page.locator(".card .fold[aria-expanded=true]").count();
      equal(await open(), 0);
      await folds.first().click();
      await until(async () => (await open()) === 1, "one");
      await folds.last().click();
      await until(async () => (await page.locator(".card .fold").last().getAttribute("aria-expanded")) === "true", "the other");
      equal(await open(), 1, "one at a time");
    },
  },

  "a tool's answer shows whether it failed, and which call it answers; a call its name, id and arguments": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 5);
      const result = page.locator(".card.role-tool_result").last();
      equal(await result.locator(".badge").textContent(), "error");
      ok(/^toolu_/.test(await result.locator(".id").textContent()), "the call's id");
      await openRow(tools, 0);
      const call = page.locator(".response .call");
      await call.waitFor();
      equal(await call.locator("strong").textContent(), "depth");
      ok(/^toolu_/.test(await call.locator(".id").textContent()), "its own id");
      ok((await call.locator(".json").textContent()).includes("samples: 12345678901234567890"), "no digit lost");
      equal(await page.locator(".response .card .card-role").allTextContents(), ["Thinking", "Tool call"]);
    },
  },

  "JSON folds and can be searched": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 1);
      const json = page.locator(".response .json");
      await json.waitFor();
      const lines = () => json.locator(".json-line").count();
      const before = await lines();
      await json.getByRole("searchbox").fill("oban");
      await until(async () => (await json.locator(".json-hit").count()) === 1, "one hit");
      ok((await json.locator(".json-hit").textContent()).includes("Oban"), "the hit");
      ok((await lines()) > before, "unfolded to it");
      await json.getByRole("searchbox").fill("");
      await json.locator(".json-fold").first().click();
      await until(async () => (await lines()) < before, "folded");
    },
  },

  "the tools tab has names, badges, folded descriptions, and schemas on demand [11: tools]": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 0, "?tab=tools");
      await page.locator(".tool").first().waitFor();
      equal(await page.locator(".tool-name").allTextContents(), ["depth", "tide_table", "web_search"]);
      equal(await page.locator(".tool .badge-accent").allTextContents(), ["server side"]);
      equal(await page.locator(".tool .fold").count(), 1);
      await page.locator(".tool .fold").click();
      await page.getByText("line 13 of what it says").waitFor();
      equal(await page.locator(".tool .json").count(), 0, "no schema yet");
      await page.locator(".tool").first().getByRole("button", { name: "Schema" }).click();
      ok((await page.locator(".tool .json").textContent()).includes('"Which pier, 1 to 9."'), "the schema");
      await openRow(tools, 9, "?tab=tools");
      await page.getByText("No tools", { exact: true }).waitFor();
    },
  },

  "the answer is shown in full, as Markdown with code in colours, or exactly as written": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 3);
      const answer = page.locator(".response .card");
      await answer.locator("table").waitFor();
      equal(await answer.locator("th").allTextContents(), ["pier", "depth", "clearance"]);
      equal(await answer.locator(".ink-keyword").allTextContents(), ["def", "return"]);
      equal(await answer.locator("ol > li").count(), 2);
      const link = answer.locator("a").first();
      equal([await link.getAttribute("href"), await link.getAttribute("rel"), await link.getAttribute("target")], ["https://harbour.example/tides", "noopener noreferrer nofollow", "_blank"]);
      equal(await answer.locator("img").count(), 0, "W-08: no image");
      equal(await answer.locator(".not-loaded").textContent(), "image: chart");
      await page.keyboard.press("m");
      await until(async () => (await answer.locator("table").count()) === 0, "as written");
      ok((await answer.textContent()).includes("![chart](https://harbour.example/chart.png)"), "every sign is there");
    },
  },

  "details have the settings, the usage and the facts": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 0, "?tab=details");
      const text = await page.locator(".details").textContent();
      ok(text.includes("max_tokens: 4096") && text.includes("Input tokens") && text.includes("/v1/messages"), text);
    },
  },

  "pictures that a captured request carries are shown, and only what is one [W-09]": {
    // The drawing is no picture to an <img>: it comes as a download, under nosniff.
    run: async ({ page, ask, open, world, shot, context }) => {
      const { rows } = await ask(`/api/sources/${world.withPictures}/graph`);
      const sizes = (where) =>
        where.locator(".attachment img").evaluateAll((all) => all.every((image) => image.complete) && all.map((image) => [image.naturalWidth, image.naturalHeight]));
      await open(`#/${world.withPictures}/graph/${rows[0].id}`);
      await until(async () => JSON.stringify(await sizes(page)) === "[[48,32]]", "the one in the question");
      await open(`#/${world.withPictures}/graph/${rows[1].id}`);
      await page.locator(".attachment").nth(2).getByText("could not be shown").waitFor();
      equal(await sizes(page), [[48, 32], [96, 54]], "those of the tool");
      await shot("pictures");
      const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".attachment").nth(2).getByText("Save").click()]);
      ok(download.suggestedFilename() !== "", "what is none can be saved");
      await page.keyboard.press("e");
      const dialog = page.getByRole("dialog", { name: "Export as one HTML file" });
      await dialog.getByLabel("Everything in").check();
      const waiting = page.waitForEvent("download");
      await dialog.getByRole("button", { name: "Save" }).click();
      const path = join(world.folder, "pictures.html");
      await (await waiting).saveAs(path);
      const file = await context.newPage();
      await file.goto(pathToFileURL(path).href);
      await until(async () => JSON.stringify(await sizes(file)) === "[[48,32],[96,54]]", "in the exported file, too");
      await file.close();
    },
  },

  "a turn shows its thread: context, options, bookmark, documents and images [2]": {
    run: async (tools) => {
      const { page, open, world } = tools;
      await open(`#/${world.threads}/graph/${world.turns.report}`);
      await page.locator(".counters").waitFor();
      equal(await page.locator(".detail-head .badge-accent").allTextContents(), ["harbour"]);
      await page.locator(".run-fold").first().click();
      const roles = async () => (await cards(page)).map(([role]) => role);
      await until(async () => (await roles()).length >= 3, "the context");
      await page.locator(".attachment img").first().waitFor();
      const size = await until(() => page.locator(".attachment img").first().evaluate((image) => image.complete && [image.naturalWidth, image.naturalHeight]), "the image");
      equal(size, [24, 16], "W-09: the image is shown");
      equal(await page.locator(".attachment img").count(), 1, "and nothing but it");
      const saved = page.locator(".attachment", { hasText: "evil.svg" }).locator("a");
      equal(await saved.getAttribute("download"), "evil.svg");
      const answer = await page.evaluate(async (address) => {
        const got = await fetch(address);
        return [got.headers.get("content-disposition")?.startsWith("attachment"), got.headers.get("x-content-type-options"), /sandbox/.test(got.headers.get("content-security-policy"))];
      }, await saved.getAttribute("href"));
      equal(answer, [true, "nosniff", true], "W-09");
      await page.getByRole("tab", { name: "Details" }).click();
      ok((await page.locator(".details").textContent()).includes("anthropic/claude-sonnet-4-6"), "the thread's options");
    },
  },

  "conversations are listed, and one can be looked at alone": {
    run: async ({ page, open, world }) => {
      await open(`#/${world.threads}/threads`);
      await page.locator(".thread").first().waitFor();
      ok((await page.locator(".thread").allTextContents()).some((text) => text.includes("harbour")), "the bookmark");
      await page.keyboard.press("j");
      await page.locator(".thread.is-selected").waitFor();
      await page.locator(".thread", { hasText: "harbour" }).first().click();
      await page.getByRole("button", { name: "Show its graph" }).click();
      await page.getByRole("button", { name: "one conversation" }).waitFor();
      const total = await page.locator(".pane-title").textContent();
      await page.keyboard.press("Escape");
      await until(async () => (await page.locator(".pane-title").textContent()) !== total, "all again");
    },
  },

  "copied as curl, Python or JSON, a request holds no key": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 0);
      const texts = {};
      for (const form of ["curl", "Python", "JSON"]) {
        await page.locator(".actions").getByRole("button", { name: "Copy" }).click();
        await page.getByRole("menuitem", { name: `Copy as ${form}` }).click();
        await page.getByText(`Copied as ${form}`).waitFor();
        texts[form] = await page.evaluate(() => navigator.clipboard.readText());
      }
      ok(texts.curl.includes("curl") && texts.curl.includes("claude-sonnet-4-6"), texts.curl.slice(0, 200));
      ok(texts.Python.includes("claude-sonnet-4-6"), texts.Python.slice(0, 200));
      equal(JSON.parse(texts.JSON).model, "claude-sonnet-4-6");
      ok(!Object.values(texts).some((text) => text.includes("sk-ant")), "no key");
    },
  },

  "a message can be copied whole": {
    run: async (tools) => {
      const { page } = tools;
      await openRow(tools, 7);
      await page.locator(".response").getByRole("button", { name: "Copy message" }).click();
      await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === "Low water is at 19:40.", "copied");
    },
  },
};
