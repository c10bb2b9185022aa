/**
 * Runs every scenario in one real browser and writes what came of each as JSON. Started by pytest (tests/viewer/conftest.py):
 * node run.mjs WORLD.json OUT.json SCREENSHOT_FOLDER [part of a name]
 *
 * Held against every page of every scenario: no request leaves for another host [W-13], no script of a message runs (a dialog
 * or the mark that payloads leave) [W-07], nothing is logged as an error, and no content policy is broken.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { scenarios } from "./scenarios.mjs";

const [worldFile, outFile, shotFolder, wanted = ""] = process.argv.slice(2);
const world = JSON.parse(readFileSync(worldFile, "utf8"));
const load = createRequire(new URL("../../../viewer/package.json", import.meta.url));
const { chromium } = load("playwright-core");
const axeSource = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
mkdirSync(shotFolder, { recursive: true });

const browser = await chromium.launch({
  executablePath: world.chromium,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--js-flags=--expose-gc",
    "--enable-precise-memory-info",
  ],
});

const contexts = new Map();
let watched = { problems: [], mayFail: [] };
const results = {};
for (const [name, { run, ...options }] of Object.entries(scenarios)) {
  if (!name.includes(wanted) || (options.soak ?? false) !== (world.soak ?? false)) continue;
  results[name] = await attempt(name, run, options);
  if (process.env.WEFT_VIEWER_TALK) console.log(results[name].ok ? "ok  " : "FAIL", name, `${results[name].ms}ms`, JSON.stringify(results[name].notes), results[name].error ?? "");
}
if (world.pictures) await keepPictures(world.pictures, world.pictureFolder);
await browser.close();
writeFileSync(outFile, JSON.stringify(results, null, 1));

async function attempt(name, run, options) {
  const began = performance.now();
  const problems = [];
  watched = { problems, mayFail: options.mayFail ?? [] };
  const context = await contextFor(options);
  context.setDefaultTimeout(options.timeout ?? 8000);
  // The first page of a look stays, and with it its process; what is measured gets one of its own.
  const page = options.soak ? await context.newPage() : (context.pages()[0] ?? (await context.newPage()));
  // A page keeps the scheme that a scenario made it emulate; each begins with the one it asks for.
  await page.emulateMedia({ colorScheme: options.theme ?? "light", reducedMotion: "reduce" });
  const notes = {};
  try {
    await run({ ...toolsFor(page, context, name), note: (more) => Object.assign(notes, more) });
    await page.waitForTimeout(0);
  } catch (error) {
    problems.unshift(String(error.stack ?? error).slice(0, 3000));
    await page.screenshot({ path: join(shotFolder, `failed-${slug(name)}.png`) }).catch(() => undefined);
  }
  await leave(context);
  const ms = Math.round(performance.now() - began);
  return problems.length === 0 ? { ok: true, ms, notes } : { ok: false, ms, notes, error: problems.join("\n") };
}

/** One for each look: scripts that were read once are not read again. What a scenario leaves behind is cleared away. */
async function contextFor(options) {
  const look = { width: options.width ?? 1280, theme: options.theme ?? "light" };
  const key = JSON.stringify(look);
  if (!contexts.has(key)) {
    const context = await browser.newContext({
      viewport: { width: look.width, height: look.width === 390 ? 844 : 800 },
      colorScheme: look.theme,
      acceptDownloads: true,
      permissions: ["clipboard-read", "clipboard-write"],
      locale: "en-GB",
      timezoneId: "Europe/Berlin",
      reducedMotion: "reduce",
    });
    watch(context);
    contexts.set(key, context);
  }
  return contexts.get(key);
}

async function leave(context) {
  await context.setOffline(false);
  const [first, ...others] = context.pages();
  for (const page of [first, ...others]) {
    if (page.url().startsWith(world.origin)) await page.evaluate(() => localStorage.clear()).catch(() => undefined);
  }
  for (const page of others) await page.close();
  await first.goto("about:blank");
  await context.clearCookies();
}

function watch(context) {
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(world.origin) && !/^(data|blob|file|about):/.test(url)) watched.problems.push(`a request left for ${url}`);
  });
  context.on("dialog", (dialog) => {
    watched.problems.push(`a dialog opened: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on("weberror", (error) => watched.problems.push(`the page threw: ${error.error().stack ?? error.error()}`));
  context.on("console", (message) => {
    if (message.type() === "error" && !watched.mayFail.some((pattern) => pattern.test(message.text()))) {
      watched.problems.push(`the page logged: ${message.text()}`);
    }
  });
}

/** The documentation's pictures, small: the browser itself knows how to write WebP. */
async function keepPictures(pictures, folder) {
  mkdirSync(folder, { recursive: true });
  const page = await browser.newPage();
  for (const [name, shot] of Object.entries(pictures)) {
    const png = `data:image/png;base64,${readFileSync(join(shotFolder, `${shot}.png`)).toString("base64")}`;
    const webp = await page.evaluate(async (address) => {
      const image = new Image();
      image.src = address;
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
      canvas.getContext("2d").drawImage(image, 0, 0);
      return canvas.toDataURL("image/webp", 0.92);
    }, png);
    writeFileSync(join(folder, `${name}.webp`), Buffer.from(webp.split(",")[1], "base64"));
  }
}

function slug(text) {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60);
}

function toolsFor(page, context, name) {
  const tools = {
    page,
    context,
    world,
    /** Open the viewer somewhere, with the token, as the address in the terminal would. */
    open: async (hash = "#/", on = page) => {
      const isIn = on.url().startsWith(world.origin);
      await on.goto(`${world.origin}/${isIn ? hash : `${hash}&token=${world.token}`}`);
      await on.locator(".page").waitFor();
    },
    /** Ask the server what the page would be told. */
    ask: async (path) => {
      const answer = await context.request.get(`${world.origin}${path}`, { headers: { authorization: `Bearer ${world.token}` } });
      if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`);
      return answer.json();
    },
    shot: async (as, on = page) => on.screenshot({ path: join(shotFolder, `${as}.png`) }),
    axe: async (rules, on = page) => {
      if (!(await on.evaluate(() => "axe" in globalThis))) await on.evaluate(axeSource);
      const only = rules === undefined ? {} : { runOnly: { type: "rule", values: rules } };
      const found = await on.evaluate((more) => axe.run(document, { resultTypes: ["violations"], ...more }), only);
      const serious = found.violations.filter((each) => each.impact === "serious" || each.impact === "critical");
      return serious.map((each) => `${each.id}: ${each.help}: ${each.nodes.slice(0, 4).map((node) => `${node.target} (${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ""})`).join("; ")}`);
    },
    name,
  };
  return tools;
}
