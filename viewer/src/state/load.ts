/** Something that is asked for: loading, here, or failed with a reason. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { SourceError } from "../api/source.ts";
import { asFailure } from "./session.ts";

export interface Loaded<Value> {
  /** What was asked for; while it is asked for again, what there was. Null before the first answer. */
  readonly value: Value | null;
  readonly failure: SourceError | null;
  readonly isLoading: boolean;
  readonly again: () => void;
}

interface State<Value> {
  readonly key: string;
  readonly value: Value | null;
  readonly failure: SourceError | null;
}

/**
 * Ask whenever `key` changes; null asks for nothing. An answer that comes too late is dropped.
 *
 * `keep` names what stays on the screen meanwhile: as long as the part of the key before the first `@` is the same, the old
 * value does (the same row in a newer version), otherwise it goes.
 */
export function useLoad<Value>(key: string | null, ask: () => Promise<Value>): Loaded<Value> {
  const [state, setState] = useState<State<Value>>({ key: "", value: null, failure: null });
  const [round, setRound] = useState(0);
  const asking = useRef("");
  useEffect(() => {
    if (key === null) return;
    const mine = `${key}#${round}`;
    asking.current = mine;
    ask().then(
      (value) => asking.current === mine && setState({ key, value, failure: null }),
      (error: unknown) => asking.current === mine && setState({ key, value: null, failure: asFailure(error) }),
    );
  }, [key, round]);
  const isCurrent = key !== null && state.key === key;
  const isSame = key !== null && nameOf(state.key) === nameOf(key);
  return {
    value: isSame ? state.value : null,
    failure: isCurrent ? state.failure : null,
    isLoading: key !== null && !isCurrent,
    again: () => {
      setState({ key: "", value: state.value, failure: null });
      setRound(round + 1);
    },
  };
}

function nameOf(key: string): string {
  return key.split("@", 1)[0] as string;
}
