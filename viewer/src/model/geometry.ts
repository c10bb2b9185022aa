/**
 * Where the graph's nodes are, in pixels: trace-and-cook, section 9, step 6. Its lines come from the server, as pixels
 * of that section; a graph too wide for its place is drawn narrower by one factor.
 */

export const ROW_HEIGHT = 48;
export const COLUMN_WIDTH = 20;
export const LEFT_PAD = 14;
export const NODE_RADIUS = 5;

export function xOf(column: number): number {
  return LEFT_PAD + COLUMN_WIDTH * column;
}

export function yOf(row: number): number {
  return ROW_HEIGHT * row + ROW_HEIGHT / 2;
}

/** By how much a graph is narrowed to fit: 1 as long as it does. */
export function squeeze(width: number, available: number): number {
  return width <= available || width <= 0 ? 1 : available / width;
}

/** How many colours branches take turns with. */
export const BRANCH_COLOURS = 8;

export function colourOf(branch: number): string {
  return branch < 0 ? "var(--branch-none)" : `var(--branch-${branch % BRANCH_COLOURS})`;
}

/** The rows to show, and some around them: what a list of `height` pixels at `top` has in it. */
export function windowOf(top: number, height: number, rowHeight: number, total: number, around = 8): [number, number] {
  const first = Math.max(0, Math.floor(top / rowHeight) - around);
  const last = Math.min(total, Math.ceil((top + height) / rowHeight) + around);
  return [Math.min(first, Math.max(0, total - 1)), Math.max(first, last)];
}
