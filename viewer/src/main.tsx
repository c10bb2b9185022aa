/** Begin: find out where the data is, say who we are, draw. */

import { render } from "preact";
import { App } from "./app.tsx";
import { fileSource, readExport } from "./api/file.ts";
import { liveSource, openSession } from "./api/live.ts";
import { listen } from "./state/live.ts";
import { followAddress, go } from "./state/place.ts";
import { asFailure, setSource, start, startFailure } from "./state/session.ts";
import { followSystem } from "./state/theme.ts";
import { followRuns } from "./state/watching.ts";
import "./style/base.css";
import "./style/page.css";

async function begin(): Promise<void> {
  const root = document.getElementById("app");
  if (root === null) return;
  followSystem();
  setSource(liveSource());
  try {
    const exported = readExport(document);
    if (exported !== null) setSource(openExport(exported));
    await takeToken();
  } catch (error) {
    startFailure.value = asFailure(error);
  }
  followAddress();
  addEventListener("hashchange", () => void letIn());
  render(<App />, root);
  if (startFailure.peek() !== null) return;
  await start();
  listen();
  followRuns();
}

/** Someone pasted the address of the terminal into a page that is open already. */
async function letIn(): Promise<void> {
  if (!hasToken()) return;
  try {
    await takeToken();
    await start();
  } catch (error) {
    startFailure.value = asFailure(error);
  }
}

function hasToken(): boolean {
  return /[#&]token=/.test(location.hash);
}

/** An exported file opens at what was selected when it was made. */
function openExport(exported: NonNullable<ReturnType<typeof readExport>>): ReturnType<typeof fileSource> {
  const file = fileSource(exported);
  if (location.hash.length <= 2 && file.selected !== null) {
    go({ source: exported.source.id, row: file.selected, compare: file.compared }, "replace");
  }
  return file;
}

/** The token is in the fragment, which no browser sends anywhere; used once, it goes from the address. */
async function takeToken(): Promise<void> {
  const found = /[#&]token=([^&]+)/.exec(location.hash);
  if (found === null) return;
  const rest = location.hash.replace(found[0], "").replace(/^#?&/, "#");
  history.replaceState(null, "", `${location.pathname}${location.search}${rest.startsWith("#/") ? rest : ""}`);
  dispatchEvent(new PopStateEvent("popstate"));
  await openSession(decodeURIComponent(found[1] as string));
}

void begin();
