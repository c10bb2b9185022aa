/** Whether something has come near the screen; once it has, it stays so. */

import { useEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

const waiting = new WeakMap<Element, () => void>();

let observer: IntersectionObserver | null = null;

function shared(): IntersectionObserver {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        observer?.unobserve(entry.target);
        waiting.get(entry.target)?.();
      }
    },
    { rootMargin: "600px 0px" },
  );
  return observer;
}

export function useNear(box: RefObject<Element | null>, isFrom = false): boolean {
  const [isNear, setNear] = useState(isFrom);
  useEffect(() => {
    const element = box.current;
    if (element === null || isNear) return;
    waiting.set(element, () => setNear(true));
    shared().observe(element);
    return () => shared().unobserve(element);
  }, [isNear]);
  return isNear;
}
