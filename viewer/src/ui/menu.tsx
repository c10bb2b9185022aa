/** A button with a list of things to do behind it. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

export interface MenuItem {
  readonly label: ComponentChildren;
  readonly detail?: string;
  readonly chosen?: boolean;
  readonly run: () => void;
}

export function Menu({ label, title, items, plain = false }: { label: ComponentChildren; title: string; items: readonly MenuItem[]; plain?: boolean }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => {
    if (!isOpen) return;
    const away = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    const chosen = box.current?.querySelector<HTMLElement>('[aria-checked="true"]') ?? box.current?.querySelector<HTMLElement>("[role^=menuitem]");
    chosen?.focus();
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    box.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      event.stopPropagation();
      close();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [...(box.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(at + step + all.length) % all.length]?.focus();
  };
  const isChoice = items.some((item) => item.chosen !== undefined);
  return (
    <div class="menu" ref={box} onKeyDown={onKeyDown}>
      <button
        type="button"
        class={`button ${plain ? "quiet" : ""}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        title={title}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen ? (
        <div class="menu-list" role="menu" id={id} aria-label={title}>
          {items.map((item, at) => (
            <button
              key={at}
              type="button"
              role={isChoice ? "menuitemradio" : "menuitem"}
              aria-checked={isChoice ? item.chosen === true : undefined}
              tabIndex={-1}
              class="menu-item"
              onClick={() => {
                close();
                item.run();
              }}
            >
              <span class="menu-label">{item.label}</span>
              {item.detail === undefined ? null : <span class="menu-detail">{item.detail}</span>}
            </button>
          ))}
        </div>
      ) : null}
    </div>
  );
}
