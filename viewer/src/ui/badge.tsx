import type { ComponentChildren, JSX } from "preact";

export type Tone = "plain" | "good" | "bad" | "warn" | "accent" | "quiet";

export function Badge({ tone = "plain", title, children }: { tone?: Tone; title?: string; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`badge badge-${tone}`} title={title}>
      {children}
    </span>
  );
}

/** A key of the keyboard. */
export function Key({ children }: { children: ComponentChildren }): JSX.Element {
  return <kbd class="key">{children}</kbd>;
}
