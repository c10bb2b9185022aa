/** What a fork changes of the messages it begins from. */

import type { Edit, MessageHead } from "../api/types.gen.ts";

/** A message, and how many equal ones come before it: one message may be there twice. */
export interface Numbered {
  readonly head: MessageHead;
  readonly occurrence: number;
}

export function withOccurrences(heads: readonly MessageHead[]): Numbered[] {
  const seen = new Map<string, number>();
  return heads.map((head) => {
    const occurrence = seen.get(head.id) ?? 0;
    seen.set(head.id, occurrence + 1);
    return { head, occurrence };
  });
}

/** As the server wants it: other text, or null for leaving the message out. */
export function editsOf(messages: readonly Numbered[], changes: ReadonlyMap<number, string | null>): Edit[] {
  const made: Edit[] = [];
  for (const [index, text] of [...changes].sort(([a], [b]) => a - b)) {
    const message = messages[index];
    if (message === undefined) continue;
    const which = { message_id: message.head.id, ...(message.occurrence > 0 ? { occurrence: message.occurrence } : {}) };
    made.push(text === null ? { ...which, text: "", drop: true } : { ...which, text });
  }
  return made;
}
