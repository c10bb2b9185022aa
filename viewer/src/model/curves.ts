/** The graph's curves, moved to where they are drawn. */

/**
 * Shift the points of a path up by `above` and narrow them by `factor`. Done on the numbers, not with a transform: half-way
 * down a hundred thousand rows a browser's own arithmetic is only exact to half a pixel.
 */
export function shifted(path: string, above: number, factor: number): string {
  let isX = false;
  return path.replace(/-?\d+(?:\.\d+)?/g, (number) => {
    isX = !isX;
    const value = Number(number);
    return String(round(isX ? value * factor : value - above));
  });
}

/** A straight line between two heights, cut to what is drawn. */
export function straight(x: number, fromY: number, toY: number, above: number, height: number, factor: number): string | null {
  const from = Math.max(fromY - above, -50);
  const to = Math.min(toY - above, height + 50);
  return to <= from ? null : `M ${round(x * factor)} ${round(from)} V ${round(to)}`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
