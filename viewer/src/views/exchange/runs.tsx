/** A diff as cards: unchanged runs folded to a line, the rest with marks. Used for one row and for a comparison. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { plural } from "../../model/times.ts";
import { MessageCard } from "../../parts/message.tsx";
import { asFailure } from "../../state/session.ts";
import { Icon } from "../../ui/icons.tsx";

const AT_ONCE = 100;

export interface RunsProps {
  readonly diff: T.Diff;
  /** Which source a message is read from: what was deleted may be of another. */
  readonly sourceOf: (op: T.DiffOp) => string;
  readonly more: (start: number, count: number) => Promise<T.DiffItems>;
  readonly sought: string | null;
}

export function Runs({ diff, sourceOf, more, sought }: RunsProps): JSX.Element {
  const [unfolded, setUnfolded] = useState<string | null>(null);
  return (
    <div class="cards">
      {diff.runs.map((run) => (
        <RunOf key={`${run.op}-${run.start}-${run.count}`} run={run} sourceOf={sourceOf} more={more} sought={sought} unfolded={unfolded} unfold={setUnfolded} />
      ))}
    </div>
  );
}

interface RunProps extends Omit<RunsProps, "diff"> {
  readonly run: T.DiffRun;
  readonly unfolded: string | null;
  readonly unfold: (key: string | null) => void;
}

function RunOf({ run, sourceOf, more, sought, unfolded, unfold }: RunProps): JSX.Element {
  const isFolding = run.op === "unchanged";
  const [items, setItems] = useState<readonly T.DiffItem[]>(run.items);
  const [isOpen, setOpen] = useState(!isFolding);
  const [problem, setProblem] = useState("");
  const readMore = async (): Promise<void> => {
    try {
      const answer = await more(run.start + items.length, Math.min(AT_ONCE, run.count - items.length));
      setItems([...items, ...answer.items]);
      setProblem("");
    } catch (error) {
      setProblem(asFailure(error).message);
    }
  };
  useEffect(() => {
    if (isOpen && items.length === 0 && run.count > 0) void readMore();
  }, [isOpen]);
  useEffect(() => {
    // A message that was searched for may be in a run that is folded; reading on until it is there.
    if (sought === null || !isFolding || items.some((item) => item.message.id === sought)) return;
    let isWanted = true;
    void (async () => {
      for (let start = 0; start < Math.min(run.count, 2000) && isWanted; start += AT_ONCE) {
        const answer = await more(run.start + start, Math.min(AT_ONCE, run.count - start));
        if (!answer.items.some((item) => item.message.id === sought)) continue;
        const before = start === 0 ? [] : (await more(run.start, start)).items;
        if (!isWanted) return;
        setItems([...before, ...answer.items]);
        setOpen(true);
        return;
      }
    })().catch(() => undefined); // then it stays folded, as it was
    return () => {
      isWanted = false;
    };
  }, [sought]);
  const left = run.count - items.length;
  return (
    <div class={`run run-${run.op}`}>
      {isFolding ? (
        <button type="button" class="run-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? "down" : "right"} size={12} />
          {plural(run.count, "unchanged message")}
        </button>
      ) : null}
      {isOpen ? (
        <>
          {items.map((item, at) => {
            const name = `${run.start + at}-${item.message.id}`;
            return (
              <MessageCard
                key={name}
                name={name}
                sourceId={sourceOf(item.op)}
                head={item.message}
                op={item.op}
                unfolded={unfolded}
                unfold={unfold}
                isSought={sought === item.message.id}
                isFirst={at < 6}
              />
            );
          })}
          {problem === "" ? null : <p class="card-failure" role="alert">{problem}</p>}
          {left > 0 && items.length > 0 ? (
            <button type="button" class="run-fold" onClick={() => void readMore()}>
              <Icon name="down" size={12} />
              {plural(left, "more message")}
            </button>
          ) : null}
        </>
      ) : null}
    </div>
  );
}

/** How much is new, gone and as it was. */
export function Counters({ diff, against }: { diff: T.Diff; against: JSX.Element | null }): JSX.Element {
  return (
    <p class="counters">
      <span class={diff.added > 0 ? "count-added" : "count-unchanged"} title="added">+{diff.added} <span>added</span></span>
      <span class={diff.deleted > 0 ? "count-deleted" : "count-unchanged"} title="deleted">−{diff.deleted} <span>deleted</span></span>
      <span class="count-unchanged" title="unchanged">={diff.unchanged} <span>unchanged</span></span>
      {against}
    </p>
  );
}
