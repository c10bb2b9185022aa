/** A diff as two columns: what is the same together, what is not beside each other. */

import type { DiffItem } from "../api/types.gen.ts";

export type Pair =
  | { readonly kind: "same"; readonly items: readonly DiffItem[] }
  | { readonly kind: "other"; readonly left: DiffItem | null; readonly right: DiffItem | null };

/** Between two common messages the first deleted one stands beside the first added one, and so on. */
export function paired(items: readonly DiffItem[]): Pair[] {
  const made: Pair[] = [];
  let same: DiffItem[] = [];
  let left: DiffItem[] = [];
  let right: DiffItem[] = [];
  const closeSame = (): void => {
    if (same.length > 0) made.push({ kind: "same", items: same });
    same = [];
  };
  const closeOther = (): void => {
    for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
      made.push({ kind: "other", left: left[at] ?? null, right: right[at] ?? null });
    }
    left = [];
    right = [];
  };
  for (const item of items) {
    if (item.op === "unchanged") {
      closeOther();
      same.push(item);
    } else {
      closeSame();
      (item.op === "deleted" ? left : right).push(item);
    }
  }
  closeSame();
  closeOther();
  return made;
}
