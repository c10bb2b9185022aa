/** Where the page's data comes from: a server, or an exported file. Views know only this. */

import type * as T from "./types.gen.ts";

export type StartRun = T.RunRequest;

export interface SearchWords {
  readonly q: string;
  readonly role: string;
  readonly model: string;
  readonly tool: string;
  readonly error: boolean;
  readonly since: number | null;
  readonly until: number | null;
}

/** What this source can do beyond showing. */
export interface Abilities {
  readonly run: boolean;
  readonly export: boolean;
  readonly live: boolean;
  readonly copy: boolean;
  readonly charts: boolean;
}

export interface Source {
  readonly abilities: Abilities;
  /** Of an exported file: when it was made, and whether secrets were taken out. */
  readonly exported: { readonly createdMs: number; readonly isRedacted: boolean; readonly redactions: number } | null;
  /** The comparison that an exported file was made of. */
  readonly compared: string | null;
  readonly selected: string | null;

  sources(): Promise<T.SourceList>;
  graph(source: string, offset: number, limit: number, tree: string | null): Promise<T.Graph>;
  place(source: string, row: string, tree: string | null): Promise<T.Place>;
  threads(source: string, after: string | null): Promise<T.ThreadPage>;
  row(source: string, row: string, tree: string | null): Promise<T.RowView>;
  diffItems(source: string, row: string, start: number, count: number): Promise<T.DiffItems>;
  tools(source: string, row: string): Promise<T.ToolList>;
  copy(source: string, row: string, as: "curl" | "python" | "json"): Promise<string>;
  messages(source: string, ids: readonly string[], max: number): Promise<T.MessageList>;
  content(source: string, message: string, start: number, count: number, part: string): Promise<T.ContentRange>;
  /** The address of an image, or null if this source has no such bytes. */
  blobAddress(source: string, blob: string): string | null;
  search(source: string, words: SearchWords, after: string | null): Promise<T.SearchPage>;
  stats(source: string): Promise<T.Stats>;
  groups(source: string, by: T.StatsBy, offset: number, limit: number): Promise<T.StatPage>;
  misses(source: string, offset: number, limit: number): Promise<T.CacheMissPage>;
  compare(left: string, right: string): Promise<T.Compare>;
  compareItems(left: string, right: string, start: number, count: number): Promise<T.DiffItems>;
  runChoices(): Promise<T.RunChoices>;
  startRun(asked: StartRun): Promise<T.Run>;
  stopRun(run: string): Promise<T.Run>;
  approve(run: string, question: string, approval: T.Approval): Promise<T.Run>;
  exportFile(asked: T.ExportRequest): Promise<Blob>;
  /** Call `heard` with every event until the returned function is called; `connected` says how the line is. */
  listen(heard: (event: T.LiveEvent) => void, connected: (is: boolean) => void): () => void;
}

/** An answer that is not a success: a word for programs, a sentence for people. */
export class SourceError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, message: string, status = 0) {
    super(message);
    this.name = "SourceError";
    this.code = code;
    this.status = status;
  }
}
