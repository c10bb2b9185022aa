/** What the keys do. The overlay behind `?` is made from this list. */

import { mover, type Command } from "./state/keys.ts";
import { go, route } from "./state/place.ts";
import { asMarkdown, isFollowing, overlay, say } from "./state/prefs.ts";
import { selected, toggleCompare } from "./state/selection.ts";
import { shown, source, sourceList } from "./state/session.ts";
import { toggleTheme } from "./state/theme.ts";
import { putOnClipboard } from "./ui/copy.tsx";
import type { Tab } from "./model/route.ts";

const TABS: readonly Tab[] = ["messages", "tools", "details"];

export function commands(): readonly Command[] {
  return [
    { keys: ["ArrowDown", "j"], shown: ["↓", "j"], group: "Move", text: "next", run: () => mover.value?.step(1) },
    { keys: ["ArrowUp", "k"], shown: ["↑", "k"], group: "Move", text: "previous", run: () => mover.value?.step(-1) },
    { keys: [" "], shown: ["space"], group: "Move", text: "on along the longest branch", run: () => mover.value?.child?.() },
    { keys: ["p"], shown: ["p"], group: "Move", text: "back to the parent", run: () => mover.value?.parent?.() },
    { keys: ["Home", "g"], shown: ["g"], group: "Move", text: "first", run: () => mover.value?.end("first") },
    { keys: ["End", "G"], shown: ["G"], group: "Move", text: "last", run: () => mover.value?.end("last") },
    { keys: ["Enter"], shown: ["enter"], group: "Move", text: "open", run: () => mover.value?.open?.() },
    { keys: ["/"], shown: ["/"], group: "Look", text: "search", run: focusSearch },
    { keys: ["t"], shown: ["t"], group: "Look", text: "messages, tools, details", run: nextTab },
    { keys: ["c"], shown: ["c"], group: "Look", text: "compare with another; again to stop", run: toggleCompare },
    { keys: ["s"], shown: ["s"], group: "Look", text: "compare side by side", run: () => go({ mode: route.peek().mode === "side" ? "diff" : "side" }, "replace") },
    { keys: ["m"], shown: ["m"], group: "Look", text: "as Markdown, or exactly as written", run: toggleMarkdown },
    { keys: ["o"], shown: ["o"], group: "Look", text: "graph, conversations, understand", run: nextScreen },
    { keys: ["l"], shown: ["l"], group: "Look", text: "follow a live recording", run: toggleFollowing },
    { keys: ["d"], shown: ["d"], group: "Look", text: "dark or light", run: toggleTheme },
    { keys: ["f"], shown: ["f"], group: "Do", text: "fork and run", run: fork },
    { keys: ["e"], shown: ["e"], group: "Do", text: "export as one file", run: share },
    { keys: ["y"], shown: ["y"], group: "Do", text: "copy the link", run: () => void copyLink() },
    { keys: ["Escape"], shown: ["esc"], group: "Do", text: "leave what is open", run: leave },
    { keys: ["?"], shown: ["?"], group: "Do", text: "show these keys", run: () => void (overlay.value = "help") },
  ];
}

function focusSearch(): void {
  const field = document.getElementById("search");
  if (field instanceof HTMLInputElement) {
    field.focus();
    field.select();
  }
}

function nextTab(): void {
  const at = TABS.indexOf(route.peek().tab);
  go({ tab: TABS[(at + 1) % TABS.length] ?? "messages" }, "replace");
}

function nextScreen(): void {
  const screens = ["graph", "threads", "understand"] as const;
  const at = screens.findIndex((screen) => screen === route.peek().screen);
  go({ screen: screens[(at + 1) % screens.length] ?? "graph" });
}

function toggleMarkdown(): void {
  asMarkdown.value = !asMarkdown.peek();
  say(asMarkdown.peek() ? "Texts are set as Markdown" : "Texts are shown exactly as written");
}

function toggleFollowing(): void {
  if (!shown.peek()?.is_live) return say("This is not a live recording");
  isFollowing.value = !isFollowing.peek();
  say(isFollowing.peek() ? "Following" : "No longer following");
}

function fork(): void {
  if (!source().abilities.run || !sourceList.peek()?.run_source_id) return say("Running needs a store: open one with weft view");
  if (shown.peek()?.can_run === false || selected.peek() === null) return say("This cannot be run");
  overlay.value = "fork";
}

function share(): void {
  if (source().abilities.export && sourceList.peek()?.can_export) overlay.value = "export";
}

async function copyLink(): Promise<void> {
  say((await putOnClipboard(location.href)) ? "Copied the link" : "The browser did not let us copy");
}

function leave(): void {
  const at = route.peek();
  if (at.compare !== null) go({ compare: null, mode: "diff" });
  else if (at.screen === "find") go({ screen: "graph" });
  else if (at.tree !== null) go({ tree: null });
  else if (at.row !== null && matchMedia("(max-width: 760px)").matches) go({ row: null });
}
