/** Light or dark: what the system says until the person says otherwise; remembered. */

import { effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";

const KEPT = "weft-theme";

function remembered(): Theme | null {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "light" || kept === "dark" ? kept : null;
  } catch {
    return null; // no storage: an exported file, or a browser told to keep nothing
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>(remembered() ?? (system.matches ? "dark" : "light"));

export function followSystem(): void {
  system.addEventListener("change", () => {
    if (remembered() === null) theme.value = system.matches ? "dark" : "light";
  });
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
  });
}

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEPT, theme.value);
  } catch {
    // Then it holds for this page only.
  }
}
