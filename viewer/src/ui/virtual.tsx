/** A list of any length that draws only what is seen. All rows are of one height. */

import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { windowOf } from "../model/geometry.ts";

/** Browsers lose count beyond some 30 million pixels; longer lists are scrolled faster than their rows move. */
const MOST_PIXELS = 16_000_000;

export interface VirtualProps {
  readonly total: number;
  readonly rowHeight: number;
  readonly label: string;
  readonly activeId: string | undefined;
  /** The row to keep in sight; scrolled to when it changes. */
  readonly inSight: number | null;
  readonly draw: (first: number, last: number) => ComponentChildren;
  readonly seen: (first: number, last: number) => void;
  readonly box?: RefObject<HTMLDivElement | null>;
  readonly role?: "listbox" | "list";
}

export function Virtual(props: VirtualProps): JSX.Element {
  const { total, rowHeight, inSight } = props;
  const own = useRef<HTMLDivElement>(null);
  const box = props.box ?? own;
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const full = total * rowHeight;
  const tall = Math.min(full, MOST_PIXELS);
  const factor = tall > height && full > height ? (full - height) / (tall - height) : 1;
  const [first, last] = windowOf(top * factor, height, rowHeight, total);

  useLayoutEffect(() => {
    const list = box.current;
    if (list === null) return;
    const measure = (): void => setHeight(list.clientHeight);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(list);
    return () => observer.disconnect();
  }, []);

  useEffect(() => props.seen(first, last), [first, last, total, props.seen]);

  useLayoutEffect(() => {
    const list = box.current;
    if (list === null || inSight === null || total === 0) return;
    const at = (inSight * rowHeight) / factor;
    const above = list.scrollTop;
    const below = above + list.clientHeight - rowHeight;
    if (at < above) list.scrollTop = Math.max(0, at - rowHeight / factor);
    else if (at > below) list.scrollTop = at - list.clientHeight + 2 * rowHeight;
    setTop(list.scrollTop);
  }, [inSight, total > 0]);

  return (
    <div
      ref={box}
      class="virtual"
      role={props.role ?? "listbox"}
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={props.activeId}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="virtual-all" role="presentation" style={{ height: `${tall}px` }}>
        <div
          class="virtual-window"
          role="presentation"
          style={{ transform: `translateY(${first * rowHeight - top * factor + top}px)`, height: `${(last - first) * rowHeight}px` }}
        >
          {props.draw(first, last)}
        </div>
      </div>
    </div>
  );
}
