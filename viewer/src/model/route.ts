/** What is selected, filtered and compared, as the fragment of the address, and back. */

export type Screen = "graph" | "threads" | "find" | "understand";
export type Tab = "messages" | "tools" | "details";
export type CompareMode = "diff" | "side";

export interface Filters {
  readonly text: string;
  readonly role: string;
  readonly model: string;
  readonly tool: string;
  readonly error: boolean;
  /** Days, `2026-03-01`; both ends belong to it. */
  readonly since: string;
  readonly until: string;
}

export interface Route {
  readonly source: string | null;
  readonly screen: Screen;
  readonly row: string | null;
  /** Only this tree of the graph. */
  readonly tree: string | null;
  readonly tab: Tab;
  /** `source:row`, what the selected row is compared with. */
  readonly compare: string | null;
  readonly mode: CompareMode;
  readonly filters: Filters;
  /** The message to unfold and scroll to. */
  readonly message: string | null;
}

export const NO_FILTERS: Filters = { text: "", role: "", model: "", tool: "", error: false, since: "", until: "" };

export const HOME: Route = {
  source: null,
  screen: "graph",
  row: null,
  tree: null,
  tab: "messages",
  compare: null,
  mode: "diff",
  filters: NO_FILTERS,
  message: null,
};

const SCREENS: readonly Screen[] = ["graph", "threads", "find", "understand"];
const TABS: readonly Tab[] = ["messages", "tools", "details"];

/** `#/source/screen/row?tab=…`: only what differs from the usual is written. */
export function write(route: Route): string {
  const query = new URLSearchParams();
  const put = (name: string, value: string | null, usual = ""): void => {
    if (value !== null && value !== usual) query.set(name, value);
  };
  put("tab", route.tab, "messages");
  put("tree", route.tree);
  put("cmp", route.compare);
  put("mode", route.mode, "diff");
  put("m", route.message);
  put("q", route.filters.text);
  put("role", route.filters.role);
  put("model", route.filters.model);
  put("tool", route.filters.tool);
  put("error", route.filters.error ? "1" : "");
  put("since", route.filters.since);
  put("until", route.filters.until);
  const path = [route.source ?? "", route.screen, route.row ?? ""].map(encodeURIComponent);
  while (path.length > 0 && (path.at(-1) === "" || (path.length === 2 && path.at(-1) === "graph"))) path.pop();
  const text = query.toString();
  return `#/${path.join("/")}${text === "" ? "" : `?${text}`}`;
}

/** Whatever does not fit is the usual: an address typed by hand must open something. */
export function read(fragment: string): Route {
  const [path = "", text = ""] = splitOnce(fragment.replace(/^#?\/?/, ""), "?");
  const [source = "", screen = "", row = ""] = path.split("/").map(decoded);
  const query = new URLSearchParams(text);
  const get = (name: string): string => query.get(name) ?? "";
  return {
    source: source || null,
    screen: SCREENS.find((known) => known === screen) ?? "graph",
    row: row || null,
    tree: get("tree") || null,
    tab: TABS.find((known) => known === get("tab")) ?? "messages",
    compare: /^[^:]+:.+$/.test(get("cmp")) ? get("cmp") : null,
    mode: get("mode") === "side" ? "side" : "diff",
    message: get("m") || null,
    filters: {
      text: get("q"),
      role: get("role"),
      model: get("model"),
      tool: get("tool"),
      error: get("error") === "1",
      since: isDay(get("since")) ? get("since") : "",
      until: isDay(get("until")) ? get("until") : "",
    },
  };
}

export function isFiltered(filters: Filters): boolean {
  return write({ ...HOME, filters }) !== write(HOME);
}

/** The first and the last millisecond of the filtered days, local time; null where there is no bound. */
export function bounds(filters: Filters): { since: number | null; until: number | null } {
  const at = (text: string, days: number): number | null => {
    if (!isDay(text)) return null;
    const [year = 0, month = 1, date = 1] = text.split("-").map(Number);
    return new Date(year, month - 1, date + days).getTime();
  };
  const end = at(filters.until, 1);
  return { since: at(filters.since, 0), until: end === null ? null : end - 1 };
}

export function splitRef(ref: string): { source: string; row: string } {
  const [source = "", row = ""] = splitOnce(ref, ":");
  return { source, row };
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

function splitOnce(text: string, mark: string): string[] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
