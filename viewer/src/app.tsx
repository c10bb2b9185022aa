/** The page: the bar at the top, the list on the left, what is selected on the right. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { commands } from "./commands.ts";
import { isFiltered, type Screen } from "./model/route.ts";
import { count, moment, plural } from "./model/times.ts";
import { spelled } from "./model/visible.ts";
import { exchanges, isConnected } from "./state/live.ts";
import { listenToKeys } from "./state/keys.ts";
import { go, route } from "./state/place.ts";
import { notice, overlay } from "./state/prefs.ts";
import { selected, selectedRow } from "./state/selection.ts";
import { shown, source, sourceList, start, startFailure } from "./state/session.ts";
import { theme, toggleTheme } from "./state/theme.ts";
import { Icon, type IconName } from "./ui/icons.tsx";
import { Menu } from "./ui/menu.tsx";
import { Split } from "./ui/split.tsx";
import { Failed, Waiting } from "./ui/states.tsx";
import { Text } from "./ui/text.tsx";
import { DetailPane } from "./views/exchange/detail.tsx";
import { FindPanel } from "./views/find/panel.tsx";
import { HelpOverlay } from "./views/help/overlay.tsx";
import { ForkDialog } from "./views/run/fork.tsx";
import { RunPanel } from "./views/run/panel.tsx";
import { ShareDialog } from "./views/share/dialog.tsx";
import { ThreadList } from "./views/threads/list.tsx";
import { RowList } from "./views/trace/list.tsx";
import { UnderstandPage } from "./views/understand/page.tsx";

export function App(): JSX.Element {
  useEffect(() => listenToKeys(commands), []);
  const name = shown.value?.name ?? "";
  useEffect(() => {
    document.title = name === "" ? "weft" : `${spelled(name)} · weft`;
  }, [name]);
  const failure = startFailure.value;
  if (failure !== null) return <NotStarted code={failure.code} reason={failure.message} />;
  if (sourceList.value === null) return <Waiting label="Opening…" />;
  const { screen, row } = route.value;
  return (
    <div class="page" data-screen={screen} data-open={row === null ? "list" : "detail"}>
      <TopBar />
      <main class="main" id="main">
        {screen === "understand" ? (
          <UnderstandPage />
        ) : (
          <Split
            usual={430}
            label="Width of the list"
            left={screen === "threads" ? <ThreadList /> : screen === "find" ? <FindPanel /> : <RowList />}
            right={
              <>
                <DetailPane />
                <RunPanel />
              </>
            }
          />
        )}
      </main>
      <Overlays />
      <div class={`notice ${notice.value === "" ? "" : "is-shown"}`} role="status" aria-live="polite">
        {notice.value}
      </div>
    </div>
  );
}

function NotStarted({ code, reason }: { code: string; reason: string }): JSX.Element {
  return (
    <main class="not-started">
      {code === "token" ? (
        <Failed title="This page needs its key" reason="Open the address that weft view printed in the terminal: it carries the key that lets this browser in." again={() => void start()} />
      ) : (
        <Failed title="The viewer could not start" reason={reason} again={() => void start()} />
      )}
    </main>
  );
}

function TopBar(): JSX.Element {
  return (
    <header class="bar">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.querySelector<HTMLElement>("[tabindex='0']")?.focus(); }}>
        Skip to the contents
      </a>
      <span class="brand">
        <Weave />
        weft
      </span>
      <SourceMenu />
      <nav class="screens" aria-label="Screens">
        <ScreenLink screen="graph" icon="tree" label="Graph" />
        <ScreenLink screen="threads" icon="threads" label="Conversations" />
        <ScreenLink screen="understand" icon="chart" label="Understand" />
      </nav>
      <SearchField />
      <div class="bar-end">
        <LineState />
        {source().abilities.export && sourceList.value?.can_export ? (
          <button type="button" class="button quiet" title="Export (e)" aria-label="Export" onClick={() => { overlay.value = "export"; }}>
            <Icon name="share" />
          </button>
        ) : null}
        <button type="button" class="button quiet" title={`${theme.value === "dark" ? "Light" : "Dark"} theme (d)`} aria-label={`Use the ${theme.value === "dark" ? "light" : "dark"} theme`} onClick={toggleTheme}>
          <Icon name={theme.value === "dark" ? "sun" : "moon"} />
        </button>
        <button type="button" class="button quiet" title="Keys (?)" aria-label="Keys" onClick={() => { overlay.value = "help"; }}>
          <Icon name="help" />
        </button>
      </div>
    </header>
  );
}

/** Threads over and under. */
function Weave(): JSX.Element {
  return (
    <svg class="weave" width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <path d="M5 1v4M5 8v9M9 1v9M9 13v4M13 1v4M13 8v9" />
      <path class="weave-cross" d="M1 6.5h9.5M15.500 6.500H17M1 11.500h6M11.500 11.500H17" />
    </svg>
  );
}

function SourceMenu(): JSX.Element | null {
  const all = sourceList.value?.sources ?? [];
  const from = shown.value;
  if (from === null) return null;
  const exported = source().exported;
  if (exported !== null) {
    return (
      <span class="source-name" title={`exported ${moment(exported.createdMs)}`}>
        <Text text={from.name} />
        <span class="quiet-text"> {exported.isRedacted ? `redacted${exported.redactions > 0 ? `, ${plural(exported.redactions, "place")}` : ""}` : "not redacted"}</span>
      </span>
    );
  }
  return (
    <Menu
      title="What to look at"
      plain
      label={
        <>
          <span class="source-name">
            <Text text={from.name} />
          </span>
          <Icon name="down" size={11} />
        </>
      }
      items={all.map((each) => ({
        label: <Text text={each.name} />,
        detail: `${{ trace: "recording", cooked: "cooked", session: "recorded", threads: "threads" }[each.kind]} · ${count(each.rows)}`,
        chosen: each.id === from.id,
        run: () => go({ source: each.id, row: null, tree: null, message: null }),
      }))}
    />
  );
}

function ScreenLink({ screen, icon, label }: { screen: Screen; icon: IconName; label: string }): JSX.Element {
  const isHere = route.value.screen === screen;
  return (
    <button type="button" class={`screen ${isHere ? "is-here" : ""}`} aria-current={isHere ? "page" : undefined} onClick={() => go({ screen, message: null })}>
      <Icon name={icon} size={15} />
      <span>{label}</span>
    </button>
  );
}

function SearchField(): JSX.Element {
  const { filters, screen } = route.value;
  const [text, setText] = useState(filters.text);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(filters.text), [filters.text]);
  const look = (words: string): void => {
    clearTimeout(timer.current);
    const next = { ...route.peek().filters, text: words.trim() };
    if (!isFiltered(next) && route.peek().screen !== "find") return;
    go({ screen: "find", filters: next, message: null }, route.peek().screen === "find" ? "replace" : "push");
  };
  return (
    <form class="search" role="search" onSubmit={(event) => { event.preventDefault(); look(text); }}>
      <Icon name="search" size={14} />
      <input
        id="search"
        type="search"
        placeholder="Search"
        aria-label="Search all messages"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onFocus={() => isFiltered(filters) && screen !== "find" && look(text)}
        onInput={(event) => {
          const words = event.currentTarget.value;
          setText(words);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => look(words), 250);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.currentTarget.blur();
            if (screen === "find") go({ screen: "graph" });
          }
          if (event.key === "ArrowDown" || event.key === "Enter") {
            event.preventDefault();
            look(text);
            event.currentTarget.blur();
            document.querySelector<HTMLElement>(".find [role=listbox]")?.focus();
          }
        }}
      />
      <kbd class="key" aria-hidden="true">/</kbd>
    </form>
  );
}

function LineState(): JSX.Element | null {
  if (!source().abilities.live) return null;
  const arriving = exchanges.value.size;
  if (isConnected.value === false) {
    return (
      <span class="line-state is-off" role="status" title="The line to weft is down; trying again">
        <span class="live-dot" aria-hidden="true" />
        <span>no connection</span>
      </span>
    );
  }
  if (isConnected.value === null || !shown.value?.is_live) return null;
  return (
    <span class="line-state" title="What is recorded appears by itself">
      <span class={`live-dot ${arriving > 0 ? "is-busy" : ""}`} aria-hidden="true" />
      <span>{arriving > 0 ? `${arriving} arriving` : "live"}</span>
    </span>
  );
}

function Overlays(): JSX.Element | null {
  const close = (): void => {
    overlay.value = null;
  };
  const from = shown.value;
  switch (overlay.value) {
    case "help":
      return <HelpOverlay commands={commands()} version={sourceList.value?.version ?? ""} close={close} />;
    case "export":
      return from === null ? null : <ShareDialog sourceId={from.id} row={selected.value} name={from.name} close={close} />;
    case "fork":
      return <Fork close={close} />;
    default:
      return null;
  }
}

function Fork({ close }: { close: () => void }): JSX.Element | null {
  const [row, setRow] = useState(selectedRow);
  const from = shown.value;
  const id = selected.value;
  useEffect(() => {
    // The row may be far from those the list has loaded (a hit of a search): ask for it.
    if (row === null && from !== null && id !== null) void source().row(from.id, id, null).then((view) => setRow(view.row), close);
  }, []);
  return row === null || from === null ? null : <ForkDialog sourceId={from.id} row={row} close={close} />;
}
