/** Tabs that a keyboard and a screen reader know as tabs. */

import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";

export interface TabEntry<Id extends string> {
  readonly id: Id;
  readonly label: ComponentChildren;
}

export function Tabs<Id extends string>({
  name,
  tabs,
  chosen,
  choose,
}: {
  name: string;
  tabs: readonly TabEntry<Id>[];
  chosen: Id;
  choose: (id: Id) => void;
}): JSX.Element {
  const bar = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.findIndex((tab) => tab.id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    choose(next.id);
    bar.current?.querySelector<HTMLElement>(`#${tabId(name, next.id)}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={name} ref={bar} onKeyDown={onKeyDown}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          id={tabId(name, tab.id)}
          class="tab"
          aria-selected={tab.id === chosen}
          aria-controls={panelId(name)}
          tabIndex={tab.id === chosen ? 0 : -1}
          onClick={() => choose(tab.id)}
        >
          {tab.label}
        </button>
      ))}
    </div>
  );
}

export function TabPanel({ name, chosen, children }: { name: string; chosen: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="tab-panel" role="tabpanel" id={panelId(name)} aria-labelledby={tabId(name, chosen)}>
      {children}
    </div>
  );
}

function tabId(name: string, id: string): string {
  return `tab-${slug(name)}-${id}`;
}

function panelId(name: string): string {
  return `panel-${slug(name)}`;
}

function slug(name: string): string {
  return name.toLowerCase().replace(/[^a-z]+/g, "-");
}
