/** A dialog over the page: the browser's own, which keeps the focus inside and gives it back. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";

export function Dialog({
  title,
  close,
  children,
  wide = false,
  foot,
}: {
  title: string;
  close: () => void;
  children: ComponentChildren;
  wide?: boolean;
  foot?: ComponentChildren;
}): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    if (dialog === null) return;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={`dialog ${wide ? "dialog-wide" : ""}`}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === box.current && close()}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id="dialog-title">{title}</h2>
          <button type="button" class="button quiet" onClick={close} aria-label="Close">
            <Icon name="close" />
          </button>
        </header>
        <div class="dialog-body" tabIndex={0} role="group" aria-label={title}>{children}</div>
        {foot === undefined ? null : <footer class="dialog-foot">{foot}</footer>}
      </div>
    </dialog>
  );
}
