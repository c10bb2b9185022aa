/** The three states that are no content: waiting, failed, nothing there. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

/** Shown only when there is something to wait for: an answer within 150 ms needs no sign of waiting. */
export function Waiting({ label }: { label: string }): JSX.Element {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="state" role="status">
      {isShown ? (
        <>
          <span class="weaving" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          <p>{label}</p>
        </>
      ) : null}
    </div>
  );
}

export function Failed({ title, reason, again }: { title: string; reason: string; again?: () => void }): JSX.Element {
  return (
    <div class="state state-failed" role="alert">
      <Icon name="warn" size={28} />
      <h2>{title}</h2>
      <p>{reason}</p>
      {again === undefined ? null : (
        <button type="button" class="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="state state-empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
