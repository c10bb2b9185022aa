/** Fork and run: from any turn or captured request, with other words or another model. Nothing that exists is changed. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { editsOf, withOccurrences, type Numbered } from "../../model/edits.ts";
import { plural } from "../../model/times.ts";
import { ROLE_NAMES } from "../../parts/roles.ts";
import { putRun } from "../../state/live.ts";
import { useLoad } from "../../state/load.ts";
import { go } from "../../state/place.ts";
import { watchRun } from "../../state/watching.ts";
import { asFailure, source } from "../../state/session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icons.tsx";
import { Waiting } from "../../ui/states.tsx";
import { Text } from "../../ui/text.tsx";
import "./run.css";

const PAGE = 500;
const MOST = 5000;
const SHOWN = 12;
const OTHER = "\u0000other";

/** All messages that are sent: the new side of the diff. */
async function baseOf(sourceId: string, row: string): Promise<Numbered[]> {
  const made: T.MessageHead[] = [];
  for (let start = 0, total = 1; start < total && start < MOST; start += PAGE) {
    const page = await source().diffItems(sourceId, row, start, PAGE);
    total = page.total;
    for (const item of page.items) if (item.op !== "deleted") made.push(item.message);
  }
  return withOccurrences(made);
}

export function ForkDialog({ sourceId, row, close }: { sourceId: string; row: T.GraphRow; close: () => void }): JSX.Element {
  const base = useLoad(`fork/${sourceId}/${row.id}`, () => baseOf(sourceId, row.id));
  const choices = useLoad("choices", () => source().runChoices());
  const [changes, setChanges] = useState<ReadonlyMap<number, string | null>>(new Map());
  const [isAll, setAll] = useState(false);
  const [append, setAppend] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const [servers, setServers] = useState<ReadonlySet<string>>(new Set());
  const [bookmark, setBookmark] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const providers = choices.value?.providers ?? [];
  // A provider without a model is only a beginning for who types; all others can be chosen as they are.
  const ready = providers.filter((each) => each.model !== "");
  const asker = row.model === "" ? undefined : providers.find((each) => each.provider === row.provider);
  const own = asker === undefined ? "" : `${row.provider}/${row.model}`;
  const usual = ready.find((each) => each.is_pointer && each.has_key) ?? ready.find((each) => each.has_key);
  const model = chosen ?? (asker?.has_key === true ? own : (usual?.name ?? own));
  const messages = base.value ?? [];
  const hidden = isAll ? 0 : Math.max(0, messages.length - SHOWN);
  const change = (index: number, text: string | null | undefined): void => {
    const next = new Map(changes);
    if (text === undefined) next.delete(index);
    else next.set(index, text);
    setChanges(next);
  };
  const run = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    const edits = editsOf(messages, changes);
    try {
      const made = await source().startRun({
        source_id: sourceId,
        row_id: row.id,
        model: model === OTHER ? typed.trim() : model,
        ...(edits.length > 0 ? { edits } : {}),
        ...(append.trim() === "" ? {} : { append }),
        ...(servers.size > 0 ? { servers: [...servers] } : {}),
        ...(bookmark.trim() === "" ? {} : { bookmark: bookmark.trim() }),
      });
      putRun(made);
      watchRun(made.id);
      close();
      if (made.base_id !== null) go({ source: made.source_id, screen: "graph", row: made.base_id, tree: null, compare: null, tab: "messages", message: null });
    } catch (error) {
      setProblem(asFailure(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Fork and run"
      close={close}
      wide
      foot={
        <>
          {problem === "" ? (
            <span class="quiet-text grow">A new branch; what is there stays as it is.</span>
          ) : (
            <span class="problem-text grow" role="alert">
              {problem}
            </span>
          )}
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="button" class="button primary" disabled={isBusy || base.value === null || (model === OTHER && typed.trim() === "")} onClick={() => void run()}>
            <Icon name="play" size={13} />
            {isBusy ? "Starting…" : "Run"}
          </button>
        </>
      }
    >
      <div class="fork">
        {base.failure !== null ? <p role="alert">{base.failure.message}</p> : null}
        {base.value === null && base.failure === null ? <Waiting label="Loading the messages…" /> : null}
        {hidden === 0 ? null : (
          <button type="button" class="run-fold" onClick={() => setAll(true)}>
            <Icon name="right" size={12} />
            {plural(hidden, "earlier message")}
          </button>
        )}
        {messages.slice(hidden).map((message, at) => (
          <ForkMessage key={hidden + at} sourceId={sourceId} message={message} change={changes.get(hidden + at)} set={(text) => change(hidden + at, text)} />
        ))}
        <label class="stacked">
          <span>Say next</span>
          <textarea rows={3} placeholder={row.role === "user" ? "Optional: leave it empty to have the same asked again" : "Optional: what the user says next"} value={append} onInput={(event) => setAppend(event.currentTarget.value)} />
        </label>
        <div class="fork-choices">
          <label class="stacked">
            <span>Model</span>
            <select value={model} onChange={(event) => setChosen(event.currentTarget.value)}>
              <option value={own}>{own === "" ? "as it was" : `as it was: ${own}`}</option>
              {ready.filter((each) => each.name !== own).map((each) => (
                <option key={each.name} value={each.name}>
                  {each.name}
                  {each.is_pointer ? ` → ${each.provider}/${each.model}` : ""}
                  {each.has_key ? "" : " (no key)"}
                </option>
              ))}
              <option value={OTHER}>another…</option>
            </select>
          </label>
          {model === OTHER ? (
            <label class="stacked">
              <span>Provider and model</span>
              <input type="text" list="known-providers" placeholder="provider/model" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
              <datalist id="known-providers">
                {providers.filter((each) => !each.is_pointer).map((each) => (
                  <option key={each.name} value={each.name.includes("/") ? each.name : `${each.name}/${each.model}`} />
                ))}
              </datalist>
            </label>
          ) : null}
          <label class="stacked">
            <span>Bookmark</span>
            <input type="text" placeholder="optional name" value={bookmark} onInput={(event) => setBookmark(event.currentTarget.value)} />
          </label>
        </div>
        {(choices.value?.servers.length ?? 0) === 0 ? null : (
          <fieldset class="fork-servers">
            <legend>Tools it may use; each call asks first</legend>
            {choices.value?.servers.map((server) => (
              <label key={server.name} class="check">
                <input
                  type="checkbox"
                  checked={servers.has(server.name)}
                  onChange={() => {
                    const next = new Set(servers);
                    if (!next.delete(server.name)) next.add(server.name);
                    setServers(next);
                  }}
                />
                <span>{server.name}</span>
                <code class="quiet-text">
                  <Text text={server.shown} />
                </code>
              </label>
            ))}
          </fieldset>
        )}
        {choices.failure === null ? null : <p role="alert">{choices.failure.message}</p>}
      </div>
    </Dialog>
  );
}

function ForkMessage({ sourceId, message, change, set }: { sourceId: string; message: Numbered; change: string | null | undefined; set: (text: string | null | undefined) => void }): JSX.Element {
  const [problem, setProblem] = useState("");
  const { head } = message;
  const canEdit = head.calls.length === 0 && head.blobs.length === 0 && head.role !== "thinking";
  const edit = async (): Promise<void> => {
    try {
      let text = "";
      for (let start: number | null = 0; start !== null; ) {
        const range = await source().content(sourceId, head.id, start, 1_048_576, "content");
        text += range.text;
        start = range.next;
      }
      set(text);
    } catch (error) {
      setProblem(asFailure(error).message);
    }
  };
  const isDropped = change === null;
  return (
    <div class={`fork-message role-${head.role} ${isDropped ? "is-dropped" : ""} ${typeof change === "string" ? "is-edited" : ""}`}>
      <div class="fork-line">
        <span class="card-role">{ROLE_NAMES[head.role]}</span>
        <span class="row-gist">
          <Text text={head.gist || head.calls.join(", ")} />
        </span>
        {change === undefined ? (
          <>
            {canEdit ? (
              <button type="button" class="button quiet small" onClick={() => void edit()}>
                <Icon name="edit" size={13} />
                Edit
              </button>
            ) : null}
            <button type="button" class="button quiet small" onClick={() => set(null)}>
              Leave out
            </button>
          </>
        ) : (
          <button type="button" class="button quiet small" onClick={() => set(undefined)}>
            {isDropped ? "Put back" : "As it was"}
          </button>
        )}
      </div>
      {problem === "" ? null : <p role="alert">{problem}</p>}
      {typeof change === "string" ? <EditField value={change} label={`${ROLE_NAMES[head.role]} message`} set={set} /> : null}
    </div>
  );
}

function EditField({ value, label, set }: { value: string; label: string; set: (text: string) => void }): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => set(text), [text]);
  return <textarea aria-label={label} rows={Math.min(16, Math.max(3, text.split("\n", 16).length + 1))} value={text} onInput={(event) => setText(event.currentTarget.value)} autofocus />;
}
