/** Copying to the clipboard, and saying that it is done. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons.tsx";

/** Put text on the clipboard; false where the browser does not let us. */
export async function putOnClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return oldWay(text);
  }
}

/** Pages that were not served over a secure line (an exported file) have no `navigator.clipboard`. */
function oldWay(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "off-screen";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

export function CopyButton({ text, label, words }: { text: () => string | Promise<string>; label: string; words?: string }): JSX.Element {
  const [state, setState] = useState<"ready" | "done" | "failed">("ready");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (): Promise<void> => {
    let done = false;
    try {
      done = await putOnClipboard(await text());
    } catch {
      done = false; // the text could not be had; the button says so
    }
    setState(done ? "done" : "failed");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState("ready"), 1600);
  };
  const said = { ready: label, done: "Copied", failed: "Could not copy" }[state];
  return (
    <button type="button" class={`button quiet small ${state === "done" ? "is-done" : ""}`} onClick={copy} aria-label={said} title={said}>
      <Icon name={state === "done" ? "check" : state === "failed" ? "warn" : "copy"} size={14} />
      {words === undefined ? null : <span>{state === "done" ? "Copied" : words}</span>}
    </button>
  );
}
