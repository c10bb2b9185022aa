/** Two panes with a bar between them that can be dragged, or moved with the arrow keys. Its place is remembered. */

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";

const LEAST = 260;
const KEPT = "weft-split";

function remembered(usual: number): number {
  try {
    const kept = Number(localStorage.getItem(KEPT));
    return kept >= LEAST && kept < 4000 ? kept : usual;
  } catch {
    return usual;
  }
}

export function Split({ left, right, usual, label }: { left: ComponentChildren; right: ComponentChildren; usual: number; label: string }): JSX.Element {
  const [width, setWidth] = useState(() => remembered(usual));
  const box = useRef<HTMLDivElement>(null);
  const most = (): number => Math.max(LEAST, (box.current?.clientWidth ?? 1280) - 360);
  const move = (to: number): void => {
    const next = Math.round(Math.min(most(), Math.max(LEAST, to)));
    setWidth(next);
    try {
      localStorage.setItem(KEPT, String(next));
    } catch {
      // Then it holds for this page only.
    }
  };
  const onPointerDown = (event: PointerEvent): void => {
    const bar = event.currentTarget as HTMLElement;
    bar.setPointerCapture(event.pointerId);
    const from = event.clientX - width;
    const drag = (moved: PointerEvent): void => move(moved.clientX - from);
    bar.addEventListener("pointermove", drag);
    bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", drag), { once: true });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move(width + step);
  };
  return (
    <div class="split" ref={box} style={{ "--split": `${width}px` }}>
      <div class="split-left">{left}</div>
      <div
        class="split-bar"
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuenow={width}
        aria-valuemin={LEAST}
        aria-valuemax={Math.max(width, 2000)}
        tabIndex={0}
        onPointerDown={onPointerDown}
        onKeyDown={onKeyDown}
      />
      <div class="split-right">{right}</div>
    </div>
  );
}
