/** Answers that arrive in pieces. */

import type * as T from "../api/types.gen.ts";

/** A recorded call whose answer is still arriving. */
export interface LiveExchange {
  readonly id: string;
  readonly source_id: string;
  readonly row_id: string | null;
  readonly model: string;
  readonly gist: string;
  readonly timestamp_ms: number;
  readonly answer: readonly T.Answer[];
  readonly state: T.RowState;
}

/** The answer with one more piece: joined to the last of its kind, or begun anew. */
export function appended(answer: readonly T.Answer[], piece: Pick<T.Answer, "kind" | "name" | "text">): T.Answer[] {
  const last = answer.at(-1);
  const isSame = last !== undefined && last.kind === piece.kind && (piece.name === null || piece.name === last.name);
  if (!isSame) return [...answer, { kind: piece.kind, name: piece.name, text: piece.text }];
  return [...answer.slice(0, -1), { ...last, text: last.text + piece.text }];
}

export function roleOf(kind: T.AnswerKind): T.Role {
  if (kind === "thinking") return "thinking";
  return kind === "tool_use" ? "tool_use" : "assistant";
}
