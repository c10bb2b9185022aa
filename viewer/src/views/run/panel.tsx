/** A run under way: the answer as it arrives, the questions it asks, and how it ended. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { Answers } from "../../parts/answers.tsx";
import { putRun, runs } from "../../state/live.ts";
import { go } from "../../state/place.ts";
import { asFailure, source } from "../../state/session.ts";
import { isOver, watched, watchRun } from "../../state/watching.ts";
import { Badge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Json } from "../../ui/json.tsx";
import { Name, Text } from "../../ui/text.tsx";
import "./run.css";

export function RunPanel(): JSX.Element | null {
  const run = watched.value ?? [...runs.value.values()].find((each) => each.state === "asking") ?? null;
  if (run === null) return null;
  return <PanelOf key={run.id} run={run} />;
}

function PanelOf({ run }: { run: T.Run }): JSX.Element {
  const [problem, setProblem] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const stop = async (): Promise<void> => {
    try {
      putRun(await source().stopRun(run.id));
    } catch (error) {
      setProblem(asFailure(error).message);
    }
  };
  useEffect(() => {
    box.current?.scrollTo(0, box.current.scrollHeight);
  }, [run.answer, run.question]);
  const isDone = isOver(run);
  const turn = run.turn_id ?? run.base_id;
  return (
    <section class={`run-panel run-${run.state}`} aria-label="Run">
      <header class="run-head">
        <StateOf run={run} />
        <span class="row-model">
          <Name name={run.model} />
        </span>
        {run.why === "" || run.why === run.state ? null : <span class="quiet-text"><Text text={run.why} /></span>}
        <span class="grow" />
        {turn === null ? null : (
          <button type="button" class="button quiet small" onClick={() => go({ source: run.source_id, screen: "graph", row: turn, tree: null, compare: null })}>
            Show its turn
          </button>
        )}
        {isDone ? (
          <button type="button" class="button quiet small" onClick={() => watchRun(null)} aria-label="Close the run">
            <Icon name="close" size={14} />
          </button>
        ) : (
          <button type="button" class="button small" onClick={() => void stop()}>
            <Icon name="stop" size={12} />
            Stop
          </button>
        )}
      </header>
      {problem === "" ? null : <p class="banner banner-bad" role="alert"><span>{problem}</span></p>}
      {run.error === null ? null : <p class="banner banner-bad" role="alert"><Icon name="warn" size={14} /><span><Text text={run.error} /></span></p>}
      {run.notes.map((note, at) => (
        <p key={at} class="quiet-text run-note"><Text text={note} /></p>
      ))}
      {isDone ? null : (
        <div class="run-body" ref={box} tabIndex={0} role="log" aria-label="The answer">
          {run.question === null ? <Answers answer={run.answer} isLive /> : <Question run={run} question={run.question} />}
        </div>
      )}
    </section>
  );
}

function StateOf({ run }: { run: T.Run }): JSX.Element {
  switch (run.state) {
    case "running":
      return <span class="run-state"><span class="live-dot" aria-hidden="true" /> Running</span>;
    case "asking":
      return <Badge tone="warn">Waiting for you</Badge>;
    case "done":
      return <Badge tone="good">Done</Badge>;
    case "stopped":
      return <Badge tone="warn">Stopped</Badge>;
    case "failed":
      return <Badge tone="bad">Failed</Badge>;
  }
}

/** A tool call that waits for a yes. All of it is shown, hidden characters by name, before anything can be pressed. */
function Question({ run, question }: { run: T.Run; question: T.EventRunAsk }): JSX.Element {
  const [instead, setInstead] = useState("");
  const [isOther, setOther] = useState(false);
  const [remember, setRemember] = useState(false);
  const [problem, setProblem] = useState("");
  const [isSent, setSent] = useState(false);
  const answer = async (approval: T.Approval): Promise<void> => {
    setSent(true);
    try {
      putRun(await source().approve(run.id, question.question_id, approval));
    } catch (error) {
      setProblem(asFailure(error).message);
      setSent(false);
    }
  };
  return (
    <div class="question" role="alertdialog" aria-label={`May ${question.tool} be called?`}>
      <p class="question-title">
        <Icon name="tool" size={15} />
        <span>
          May <strong class="mono"><Name name={question.tool} /></strong>
          {question.server === null ? null : <> of <Name name={question.server} /></>} be called?
        </span>
      </p>
      {question.description === "" ? null : <p class="quiet-text"><Text text={question.description} /></p>}
      {question.changes === "" ? null : <p class="banner banner-warn"><Icon name="warn" size={14} /><span><Text text={question.changes} /></span></p>}
      {question.hidden.length === 0 ? null : (
        <p class="banner banner-warn"><Icon name="warn" size={14} /><span>It holds characters that do not show: <Text text={question.hidden.join(", ")} /></span></p>
      )}
      <Json text={question.arguments} label={`arguments of ${question.tool}`} />
      {problem === "" ? null : <p role="alert" class="problem-text">{problem}</p>}
      {isOther ? (
        <div class="instead">
          <label class="stacked">
            <span>What to do instead</span>
            <textarea rows={2} value={instead} onInput={(event) => setInstead(event.currentTarget.value)} />
          </label>
          <button type="button" class="button" disabled={isSent || instead.trim() === ""} onClick={() => void answer({ choice: "different", text: instead })}>
            Say this instead
          </button>
        </div>
      ) : null}
      <div class="question-answers">
        <button type="button" class="button primary" disabled={isSent} onClick={() => void answer({ choice: "yes", ...(remember ? { remember } : {}) })}>
          Allow
        </button>
        <button type="button" class="button" disabled={isSent} onClick={() => void answer({ choice: "no" })}>
          Do not allow
        </button>
        <button type="button" class="button quiet" disabled={isSent} aria-expanded={isOther} onClick={() => setOther(!isOther)}>
          Something else…
        </button>
        <label class="check">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.currentTarget.checked)} />
          <span>do not ask about this tool again in this run</span>
        </label>
      </div>
    </div>
  );
}
