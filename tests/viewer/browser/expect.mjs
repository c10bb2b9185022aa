/** What a scenario says it expects. */

import { isDeepStrictEqual } from "node:util";

export function equal(found, wanted, what = "") {
  if (!isDeepStrictEqual(found, wanted)) {
    throw new Error(`${what}\n  found  ${JSON.stringify(found)}\n  wanted ${JSON.stringify(wanted)}`);
  }
}

export function ok(value, what) {
  if (!value) throw new Error(what);
}

/** Wait until something holds; what it gave last is in the complaint. */
export async function until(found, what, ms = 6000) {
  const end = Date.now() + ms;
  let last;
  for (;;) {
    last = await found();
    if (last) return last;
    if (Date.now() > end) throw new Error(`${what} did not happen; last: ${JSON.stringify(last)}`);
    await new Promise((go) => setTimeout(go, 25));
  }
}
