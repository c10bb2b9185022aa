/** The graph beside the rows: lines as they were laid out, a node a row. */

import type { JSX } from "preact";
import type * as T from "../../api/types.gen.ts";
import { shifted, straight } from "../../model/curves.ts";
import { colourOf, NODE_RADIUS, ROW_HEIGHT, xOf, yOf } from "../../model/geometry.ts";
import type { Rows } from "../../state/rows.ts";

interface GraphProps {
  readonly rows: Rows;
  readonly first: number;
  readonly last: number;
  readonly width: number;
  readonly factor: number;
  readonly selected: string | null;
}

export function GraphLines({ rows, first, last, width, factor, selected }: GraphProps): JSX.Element {
  const above = first * ROW_HEIGHT;
  const height = (last - first) * ROW_HEIGHT;
  const radius = Math.max(2.2, NODE_RADIUS * Math.min(1, factor * 1.2));
  const seen: T.GraphRow[] = [];
  for (let row = first; row < last; row += 1) {
    const found = rows.at(row);
    if (found !== null) seen.push(found);
  }
  return (
    <svg class="graph" width={width} height={height} aria-hidden="true" focusable="false">
      {rows.lines(first, last).map((line) => {
        const down = straight(line.x, line.from_y, line.to_y, above, height, factor);
        return (
          <g key={line.branch} style={{ stroke: colourOf(line.branch) }}>
            {line.curve === null ? null : <path d={shifted(line.curve, above, factor)} />}
            {down === null ? null : <path d={down} />}
          </g>
        );
      })}
      {seen.flatMap((row) => row.merges.map((id) => mergeLine(rows, row, id, above, factor)))}
      {seen.map((row) => {
        const x = xOf(row.column) * factor;
        const y = yOf(row.row) - above;
        return (
          <g key={row.id} style={{ "--branch": colourOf(row.branch) }} class={`node node-${row.state} ${row.id === selected ? "is-selected" : ""}`}>
            {row.id === selected ? <circle class="node-ring" cx={x} cy={y} r={radius + 3.5} /> : null}
            <circle class="node-dot" cx={x} cy={y} r={radius} />
          </g>
        );
      })}
    </svg>
  );
}

/** A turn that joins threads has further parents: a dashed line to each that is near. */
function mergeLine(rows: Rows, row: T.GraphRow, parentId: string, above: number, factor: number): JSX.Element | null {
  const parent = rows.byId(parentId);
  if (parent === null) return null;
  const [px, py, x, y] = [xOf(parent.column), yOf(parent.row), xOf(row.column), yOf(row.row)];
  const mid = (py + y) / 2;
  const path = `M ${px} ${py} C ${px} ${mid} ${x} ${mid} ${x} ${y}`;
  return <path key={`${row.id}-${parentId}`} class="merge" style={{ stroke: colourOf(parent.branch) }} d={shifted(path, above, factor)} />;
}
