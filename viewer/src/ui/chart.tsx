/** Small charts of bars, drawn as SVG. What a chart says is in its label and in the table that belongs to it. */

import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { steps } from "../model/chart.ts";

export interface Bar {
  readonly key: string;
  readonly label: string;
  /** From the bottom up; one value a series. */
  readonly values: readonly number[];
}

export interface Series {
  readonly name: string;
  /** A number of the chart colours, 0 to 4. */
  readonly colour: number;
}

const HEIGHT = 132;
const LEFT = 46;
const BOTTOM = 4;

export function Bars({
  title,
  series,
  bars,
  shown,
  chosen,
  choose,
  marksTo = steps,
}: {
  title: string;
  series: readonly Series[];
  bars: readonly Bar[];
  shown: (value: number) => string;
  chosen?: string | null;
  choose?: (key: string) => void;
  /** The numbers at the side, from 0 to above the largest. */
  marksTo?: (largest: number) => number[];
}): JSX.Element {
  const [width, setWidth] = useState(560);
  const box = useRef<SVGSVGElement>(null);
  useLayoutEffect(() => {
    const drawing = box.current;
    if (drawing === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(160, drawing.clientWidth)));
    observer.observe(drawing);
    return () => observer.disconnect();
  }, []);
  const sums = bars.map((bar) => bar.values.reduce((sum, value) => sum + value, 0));
  const marks = marksTo(Math.max(0, ...sums));
  const top = marks.at(-1) ?? 1;
  const y = (value: number): number => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - 8) * value) / (top || 1);
  const slot = (width - LEFT) / Math.max(1, bars.length);
  const thick = Math.max(0.5, Math.min(28, slot * (slot > 4 ? 0.72 : 0.92)));
  const total = sums.reduce((sum, value) => sum + value, 0);
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        {series.length > 1 ? (
          <ul class="legend">
            {series.map((each) => (
              <li key={each.name}>
                <i class={`chart-${each.colour}`} aria-hidden="true" />
                {each.name}
              </li>
            ))}
          </ul>
        ) : null}
      </figcaption>
      <svg ref={box} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${title}: ${bars.length} bars, ${shown(total)} in all`}>
        {marks.map((mark) => (
          <g key={mark}>
            <line class="chart-line" x1={LEFT} x2={width} y1={y(mark)} y2={y(mark)} />
            <text class="chart-text" x={LEFT - 6} y={y(mark) + 3.5} text-anchor="end">
              {shown(mark)}
            </text>
          </g>
        ))}
        {bars.map((bar, at) => {
          const x = LEFT + slot * at + (slot - thick) / 2;
          let below = 0;
          return (
            <g key={bar.key} class={`chart-bar ${bar.key === chosen ? "is-chosen" : ""}`} onClick={choose && (() => choose(bar.key))}>
              <title>{`${bar.label}\n${series.map((each, index) => `${each.name}: ${shown(bar.values[index] ?? 0)}`).join("\n")}`}</title>
              <rect class="chart-slot" x={LEFT + slot * at} y={0} width={slot} height={HEIGHT} />
              {bar.values.map((value, index) => {
                const from = below;
                below += value;
                const high = y(from) - y(below);
                return high <= 0 ? null : (
                  <rect key={index} class={`chart-${series[index]?.colour ?? 0}`} x={x} y={y(below)} width={thick} height={Math.max(0.75, high)} rx={thick > 6 ? 1.5 : 0} />
                );
              })}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

/** A bar within a line: how much of the whole this is. */
export function Share({ part, whole, title }: { part: number; whole: number; title: string }): JSX.Element {
  const share = whole > 0 ? Math.min(100, (100 * part) / whole) : 0;
  return (
    <svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={title}>
      <title>{title}</title>
      <rect class="share-whole" width="100" height="6" rx="3" />
      <rect class="share-part" width={share} height="6" rx="3" />
    </svg>
  );
}
