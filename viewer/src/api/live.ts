/** The source behind `weft view`: HTTP to the server that gave us this page, and its stream of events. */

import { SourceError, type SearchWords, type Source } from "./source.ts";
import type * as T from "./types.gen.ts";

/** Send the token of the address once; from then on a cookie speaks for the page. */
export async function openSession(token: string): Promise<void> {
  await post("/api/session", { token } satisfies T.SessionRequest);
}

export function liveSource(): Source {
  const of = (source: string): string => `/api/sources/${encodeURIComponent(source)}`;
  const ofRow = (source: string, row: string): string => `${of(source)}/rows/${encodeURIComponent(row)}`;
  return {
    abilities: { run: true, export: true, live: true, copy: true, charts: true },
    exported: null,
    compared: null,
    selected: null,
    sources: () => get("/api/sources"),
    graph: (source, offset, limit, tree) => get(`${of(source)}/graph`, { offset, limit, tree }),
    place: (source, row, tree) => get(`${ofRow(source, row)}/place`, { tree }),
    threads: (source, after) => get(`${of(source)}/threads`, { after, limit: 100 }),
    row: (source, row, tree) => get(ofRow(source, row), { tree }),
    diffItems: (source, row, start, count) => get(`${ofRow(source, row)}/diff`, { start, count }),
    tools: (source, row) => get(`${ofRow(source, row)}/tools`),
    copy: async (source, row, as) => (await get<T.CopyText>(`${ofRow(source, row)}/copy`, { as })).text,
    messages: (source, ids, max) => get(`${of(source)}/messages`, { ids: ids.join(","), max }),
    content: (source, message, start, count, part) =>
      get(`${of(source)}/messages/${encodeURIComponent(message)}/content`, { start, count, part }),
    blobAddress: (source, blob) => `${of(source)}/blobs/${encodeURIComponent(blob)}`,
    search: (source, words, after) => get(`${of(source)}/search`, { ...asked(words), limit: 50, after }),
    stats: (source) => get(`${of(source)}/stats`),
    groups: (source, by, offset, limit) => get(`${of(source)}/stats/${by}`, { offset, limit }),
    misses: (source, offset, limit) => get(`${of(source)}/misses`, { offset, limit }),
    compare: (left, right) => get("/api/compare", { left, right }),
    compareItems: (left, right, start, count) => get("/api/compare/diff", { left, right, start, count }),
    runChoices: () => get("/api/run-choices"),
    startRun: (body) => postJson("/api/runs", body),
    stopRun: (run) => postJson(`/api/runs/${encodeURIComponent(run)}/stop`, {}),
    approve: (run, question, body) =>
      postJson(`/api/runs/${encodeURIComponent(run)}/approvals/${encodeURIComponent(question)}`, body),
    exportFile: async (body) => (await post("/api/export", body)).blob(),
    listen,
  };
}

function asked(words: SearchWords): Query {
  const at = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  return {
    q: words.q || null,
    role: words.role || null,
    model: words.model || null,
    tool: words.tool || null,
    error: words.error ? 1 : null,
    since: at(words.since),
    until: at(words.until),
  };
}

type Query = Readonly<Record<string, string | number | null>>;

function address(path: string, query: Query): string {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null) text.set(name, String(value));
  }
  return text.size > 0 ? `${path}?${text}` : path;
}

async function get<Answer>(path: string, query: Query = {}): Promise<Answer> {
  const answer = await reached(fetch(address(path, query), { credentials: "same-origin", cache: "no-store" }));
  return (await answer.json()) as Answer;
}

async function postJson<Answer>(path: string, body: object): Promise<Answer> {
  return (await (await post(path, body)).json()) as Answer;
}

function post(path: string, body: object): Promise<Response> {
  return reached(
    fetch(path, {
      method: "POST",
      credentials: "same-origin",
      cache: "no-store",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

/** An answer that is a success; everything else as an error that can be shown. */
async function reached(asking: Promise<Response>): Promise<Response> {
  let answer: Response;
  try {
    answer = await asking;
  } catch {
    throw new SourceError("unreachable", "weft does not answer. Is `weft view` still running?");
  }
  if (answer.ok) return answer;
  let detail: T.ErrorDetail = { code: "http", message: `weft answered ${answer.status} ${answer.statusText}` };
  try {
    detail = ((await answer.json()) as T.ErrorAnswer).error;
  } catch {
    // Not ours, then: a proxy in between, or a server that broke. The status says what there is to say.
  }
  throw new SourceError(detail.code, detail.message, answer.status);
}

function listen(heard: (event: T.LiveEvent) => void, connected: (is: boolean) => void): () => void {
  let line: EventSource | null = null;
  let again: ReturnType<typeof setTimeout> | undefined;
  const open = (): void => {
    line = new EventSource("/api/events", { withCredentials: false });
    line.onopen = () => connected(true);
    line.onmessage = (message: MessageEvent<string>) => heard(JSON.parse(message.data) as T.LiveEvent);
    line.onerror = () => {
      connected(false);
      // A browser reconnects by itself unless the answer was an error; then it gives up and we ask again, slowly.
      if (line?.readyState === EventSource.CLOSED) again = setTimeout(open, 5000);
    };
  };
  open();
  return () => {
    clearTimeout(again);
    line?.close();
  };
}
