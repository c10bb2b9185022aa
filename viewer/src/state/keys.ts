/** The keyboard: what each key does, and the one listener that does it. */

import { signal } from "@preact/signals";

/** What the list on the left can do when asked by a key. */
export interface Mover {
  readonly step: (by: number) => void;
  readonly end: (which: "first" | "last") => void;
  readonly child?: () => void;
  readonly parent?: () => void;
  readonly open?: () => void;
}

export const mover = signal<Mover | null>(null);

export interface Command {
  /** As `KeyboardEvent.key` gives it. */
  readonly keys: readonly string[];
  readonly shown: readonly string[];
  readonly group: "Move" | "Look" | "Do";
  readonly text: string;
  readonly run: () => void;
}

/** Whether what is pressed is meant for a field. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Space and enter press what has the focus, if that can be pressed. */
function isPressing(event: KeyboardEvent): boolean {
  if (event.key !== " " && event.key !== "Enter") return false;
  return event.target instanceof Element && event.target.closest("button, a, summary, [role=tab], [role^=menuitem]") !== null;
}

export function listenToKeys(commands: () => readonly Command[]): () => void {
  const pressed = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || isPressing(event)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const command = commands().find((each) => each.keys.includes(event.key));
    if (command === undefined) return;
    event.preventDefault();
    command.run();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
