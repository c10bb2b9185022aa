/** Small choices that hold for the whole page. */

import { signal } from "@preact/signals";

/** Set texts as Markdown, or show them exactly as they were written. */
export const asMarkdown = signal(true);

export type Overlay = "help" | "export" | "fork" | null;

/** The dialog that is open. */
export const overlay = signal<Overlay>(null);

/** Follow a recording: select each new request as it arrives. */
export const isFollowing = signal(false);

/** Said once to whoever cannot see it, and shown briefly. */
export const notice = signal("");

export function say(text: string): void {
  notice.value = text;
  setTimeout(() => {
    if (notice.peek() === text) notice.value = "";
  }, 3000);
}
