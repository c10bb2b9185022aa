/** What happens while one looks: recordings that arrive, runs, tools that ask. */

import { equal, ok, until } from "./expect.mjs";

/** Ask the simulator through the recording proxy, as any client would. */
async function askThrough(world, text) {
  const answer = await fetch(`${world.proxy}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "x", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: "claude-sonnet-4-6", max_tokens: 500, stream: true, messages: [{ role: "user", content: text }] }),
  });
  return answer.text();
}

async function fork({ page, open, world }, row, source = world.threads) {
  await open(`#/${source}/graph/${row}`);
  await page.locator(".detail-title").waitFor();
  await page.keyboard.press("f");
  const dialog = page.getByRole("dialog", { name: "Fork and run" });
  await dialog.locator(".fork-message").first().waitFor();
  return dialog;
}

async function choose(dialog, model) {
  await dialog.getByRole("combobox", { name: "Model" }).selectOption({ label: "another…" });
  await dialog.getByLabel("Provider and model").fill(model);
}

export const living = {
  "a recording in progress appears as it happens, its words as they stream [3]": {
    timeout: 12_000,
    run: async ({ page, open, world, shot }) => {
      await open(`#/${world.live}`);
      await page.locator(".row.is-selected").waitFor();
      const before = await page.locator(".row[id]").count();
      const asking = askThrough(world, "tell me slowly about tides");
      const arriving = page.locator(".arriving, .response .card.is-live").first();
      await arriving.waitFor();
      const early = await until(async () => (await arriving.textContent()).includes("tide comes in") && (await arriving.textContent()), "the first words");
      ok(!early.includes("for ever"), "before the last");
      await shot("live");
      const length = early.length;
      await until(async () => ((await page.locator(".arriving, .response .card").first().textContent()) ?? "").length > length, "more words");
      await asking;
      await until(async () => (await page.locator(".row[id]").count()) === before + 1, "its row, without reloading");
      await page.keyboard.press("l");
      await until(async () => (await page.locator(".row.is-selected").getAttribute("aria-posinset")) === String(before + 1), "following selects it");
      await until(async () => (await page.locator(".response").allTextContents()).join().includes("for ever."), "all of it");
      await askThrough(world, "ping");
      await until(async () => (await page.locator(".row.is-selected").getAttribute("aria-posinset")) === String(before + 2), "and the next one");
    },
  },

  "from any turn: other words, another model, and the answer streams into a new branch [4]": {
    timeout: 12_000,
    run: async (tools) => {
      const { page, world, ask, shot } = tools;
      const before = (await ask(`/api/sources/${world.threads}/graph`)).total;
      const dialog = await fork(tools, world.turns.question);
      await dialog.locator(".fork-message").first().getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("User message").fill("Please tell me slowly about the tide.");
      await choose(dialog, "anthropic/claude-sonnet-4-6");
      await shot("fork");
      await dialog.getByRole("button", { name: "Run" }).click();
      await dialog.waitFor({ state: "detached" });
      const panel = page.getByRole("region", { name: "Run" });
      await until(async () => (await panel.textContent()).includes("tide comes in"), "the answer streams");
      ok((await panel.textContent()).includes("Running"), "and is not done");
      await shot("run");
      await panel.getByText("Done").waitFor();
      await until(async () => (await page.locator(".run .card").last().textContent()).includes("for ever."), "the turn is shown");
      const after = await ask(`/api/sources/${world.threads}/graph`);
      equal(after.total, before + 2, "a question and an answer");
      equal(after.rows.at(-1).parent_id, after.rows.at(-2).id);
      ok(after.rows.some((row) => row.id === world.turns.question && row.gist.startsWith("How deep")), "the old one is as it was");
      ok(page.url().includes(after.rows.at(-1).id), "and the page went along");
    },
  },

  "a captured request can be gone on from, too [4]": {
    timeout: 12_000,
    run: async (tools) => {
      const { page, world, ask } = tools;
      const { rows } = await ask(`/api/sources/${world.agent}/graph`);
      const dialog = await fork(tools, rows[9].id, world.agent);
      await dialog.getByLabel("Say next").fill("When is low water?");
      await choose(dialog, "openai/gpt-5.2");
      await dialog.getByRole("button", { name: "Run" }).click();
      const panel = page.getByRole("region", { name: "Run" });
      await panel.getByText("Done").waitFor();
      await until(async () => page.url().includes(`#/${world.threads}/`), "the answer is a turn");
      await until(async () => (await page.locator(".run .card").last().textContent()).includes("19:40"), "the answer");
    },
  },

  "a row that the list has not loaded yet can be forked with the key as with the button [4]": {
    run: async ({ page, open, world }) => {
      await page.route(/\/graph\?/, (route) => new Promise((go) => setTimeout(go, 1500)).then(() => route.continue()).catch(() => undefined));
      await open(`#/${world.threads}/graph/${world.turns.question}`);
      await page.locator(".detail-title").waitFor();
      equal(await page.locator(".row[id]").count(), 0, "no list yet");
      await page.keyboard.press("f");
      await page.getByRole("dialog", { name: "Fork and run" }).locator(".fork-message").first().waitFor();
      await page.unroute(/\/graph\?/);
    },
  },

  "a tool call asks in the page before anything is done; yes, no, or something else [4]": {
    timeout: 20_000,
    run: async (tools) => {
      const { page, world, shot } = tools;
      const dialog = await fork(tools, world.turns.left);
      await dialog.getByLabel("Say next").fill("Now measure it again.");
      await dialog.getByLabel("harbour").check();
      await choose(dialog, "anthropic/claude-sonnet-4-6");
      await dialog.getByRole("button", { name: "Run" }).click();
      const question = page.getByRole("alertdialog");
      await question.waitFor();
      ok((await question.textContent()).includes("depth") && (await question.locator(".json").textContent()).includes("pier: 4"), "what would be called");
      await shot("approval");
      await question.getByRole("button", { name: "Allow", exact: true }).click();
      await until(async () => (await question.locator(".json").allTextContents()).join().includes("pier: 3"), "the next question");
      await question.getByRole("button", { name: "Something else…" }).click();
      await question.getByLabel("What to do instead").fill("Pier 3 is closed.");
      await question.getByRole("button", { name: "Say this instead" }).click();
      const panel = page.getByRole("region", { name: "Run" });
      await panel.getByText("Done").waitFor();
      await until(async () => (await page.locator(".run .card").last().textContent()).includes("Measured again"), "the answer");
      await page.locator(".run-fold").first().click();
      await until(async () => {
        const all = (await page.locator(".run .card.role-tool_result").allTextContents()).join();
        return all.includes("6.2 m at pier 4") && all.includes("Pier 3 is closed.");
      }, "what the tool said, and what was said instead of it");
    },
  },

  "a tool call that is not allowed is not made: the run stops, and the thread waits where the call is [4]": {
    timeout: 20_000,
    run: async (tools) => {
      const { page, world, ask } = tools;
      const before = (await ask(`/api/sources/${world.threads}/graph`)).total;
      const dialog = await fork(tools, world.turns.left);
      await dialog.getByLabel("Say next").fill("Now measure it again.");
      await dialog.getByLabel("harbour").check();
      await choose(dialog, "anthropic/claude-sonnet-4-6");
      await dialog.getByRole("button", { name: "Run" }).click();
      const question = page.getByRole("alertdialog");
      await until(async () => (await question.locator(".json").allTextContents()).join().includes("pier: 4"), "the question");
      await question.getByRole("button", { name: "Do not allow" }).click();
      const panel = page.getByRole("region", { name: "Run" });
      await panel.getByText("Stopped", { exact: true }).waitFor();
      ok((await panel.textContent()).includes("a tool was not approved"), await panel.textContent());
      const after = await ask(`/api/sources/${world.threads}/graph`);
      equal(after.total, before + 2, "what was said and the call, but no result");
      await until(async () => (await page.locator(".detail .card.role-tool_use, .detail .call").count()) > 0, "the call is shown");
      equal(await page.locator(".card.role-tool_result").count(), 0, "and nothing came of it");
    },
  },

  "a run that fails says why, and one that is stopped keeps what arrived [4]": {
    timeout: 12_000,
    run: async (tools) => {
      const { page, world } = tools;
      let dialog = await fork(tools, world.turns.question);
      await choose(dialog, "nobody/nothing");
      await dialog.getByRole("button", { name: "Run" }).click();
      await until(async () => /nobody/.test((await page.locator(".problem-text, .run-panel .banner-bad").allTextContents()).join()), "the reason");
      await page.keyboard.press("Escape");
      dialog = await fork(tools, world.turns.right);
      await dialog.getByLabel("Say next").fill("Tell me slowly, then.");
      await choose(dialog, "anthropic/claude-sonnet-4-6");
      await dialog.getByRole("button", { name: "Run" }).click();
      const panel = page.getByRole("region", { name: "Run" });
      await until(async () => (await panel.textContent()).includes("tide comes in"), "it streams");
      await panel.getByRole("button", { name: "Stop" }).click();
      await panel.getByText("Stopped", { exact: true }).waitFor();
    },
    mayFail: [/40\d/],
  },
};
