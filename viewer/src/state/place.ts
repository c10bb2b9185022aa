/** Where we are: the route as a signal, kept equal to the address. */

import { signal } from "@preact/signals";
import { HOME, read, write, type Route } from "../model/route.ts";

export const route = signal<Route>(HOME);

/** Begin with the address, and follow it when the person goes back and forth. */
export function followAddress(): void {
  const follow = (): void => {
    if (location.hash.includes("token=")) return; // taken out first, by main.tsx, which then says where to go
    const next = read(location.hash);
    if (write(next) !== write(route.peek())) route.value = next;
  };
  follow();
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
}

/** Go somewhere else. Small steps (the next row, a tab) replace the entry in the history; big ones add to it. */
export function go(change: Partial<Route>, step: "push" | "replace" = "push"): void {
  const next = { ...route.peek(), ...change };
  const address = write(next);
  if (address === write(route.peek())) return;
  route.value = next;
  if (step === "push") history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

export function addressOf(change: Partial<Route>): string {
  return write({ ...route.value, ...change });
}
