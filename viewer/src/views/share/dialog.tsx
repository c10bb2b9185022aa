/** Export what is shown as one HTML file that opens without a server; secrets are taken out unless one asks otherwise. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type * as T from "../../api/types.gen.ts";
import { bytes } from "../../model/times.ts";
import { route } from "../../state/place.ts";
import { say } from "../../state/prefs.ts";
import { asFailure, rowWord, source } from "../../state/session.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icons.tsx";

type Scope = T.ExportRequest["scope"];

export function ShareDialog({ sourceId, row, name, close }: { sourceId: string; row: string | null; name: string; close: () => void }): JSX.Element {
  const compare = route.value.compare;
  const [scope, setScope] = useState<Scope>(row === null ? "source" : compare === null ? "branch" : "row");
  const [isRedacted, setRedacted] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const word = rowWord.value;
  const scopes: readonly (readonly [Scope, string])[] = [
    ["row", compare === null ? `This ${word} alone` : "This comparison"],
    ["branch", `This ${word} and everything it continues`],
    ["tree", "The whole conversation, with all branches"],
    ["source", `Everything in ${name}`],
  ];
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem("");
    try {
      const file = await source().exportFile({
        source_id: sourceId,
        scope,
        ...(row === null ? {} : { row_id: row }),
        ...(compare === null ? {} : { compare }),
        redact: isRedacted,
      });
      saveAs(file, `weft-${name.replace(/[^A-Za-z0-9.-]+/g, "-").slice(0, 60) || "export"}.html`);
      say(`Saved ${bytes(file.size)}`);
      close();
    } catch (error) {
      setProblem(asFailure(error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Export as one HTML file"
      close={close}
      foot={
        <>
          <span class="grow problem-text" role="alert">
            {problem}
          </span>
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="button" class="button primary" disabled={isBusy} onClick={() => void save()}>
            <Icon name="download" size={14} />
            {isBusy ? "Writing…" : "Save"}
          </button>
        </>
      }
    >
      <fieldset class="choices">
        <legend>What</legend>
        {scopes.filter(([each]) => row !== null || each === "source").map(([each, text]) => (
          <label key={each} class="check">
            <input type="radio" name="scope" value={each} checked={scope === each} onChange={() => setScope(each)} />
            <span>{text}</span>
          </label>
        ))}
      </fieldset>
      <label class="check redact">
        <input type="checkbox" checked={isRedacted} onChange={(event) => setRedacted(event.currentTarget.checked)} />
        <span>Take out keys, passwords and addresses</span>
      </label>
      <p class="quiet-text">
        {isRedacted
          ? "The file opens from disk in any browser and asks no one for anything. Names and plain words stay: look at it before you send it."
          : "Careful: whatever secret a message holds will be in the file."}
      </p>
    </Dialog>
  );
}

function saveAs(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
