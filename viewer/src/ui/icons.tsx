/** Icons, drawn here: no font, no sprite, no request. All are decoration; what they mean is said in words beside them. */

import type { JSX } from "preact";

const PATHS = {
  search: "M7 12.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM11 11l3.5 3.5",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3.05 3.05l1.06 1.06M11.9 11.9l1.05 1.05M3.05 12.95l1.06-1.06M11.9 4.1l1.05-1.05",
  moon: "M13.5 9.7A6 6 0 0 1 6.3 2.5a6 6 0 1 0 7.2 7.2Z",
  share: "M8 10V1.8M5 4.3l3-2.8 3 2.8M3.5 7.5H2.8v6.7h10.4V7.5h-.7",
  help: "M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM6.2 6.2a1.9 1.9 0 1 1 2.7 1.8c-.6.3-.9.7-.9 1.4M8 11.6v.1",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  check: "m3 8.5 3.2 3.2L13 4.5",
  close: "m4 4 8 8M12 4l-8 8",
  back: "M9.5 3.5 5 8l4.5 4.5",
  right: "M6.5 3.5 11 8l-4.5 4.5",
  down: "M3.5 6.5 8 11l4.5-4.5",
  fork: "M4.5 5.5a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5ZM4.5 14a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5ZM11.5 5.5a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5ZM4.5 5.5v5M11.5 5.5c0 3-3 3.5-6 4.5",
  compare: "M8 1.5v13M6 4.5H2v7h4M10 4.5h4v7h-4",
  play: "M4.5 2.8v10.4L13 8z",
  stop: "M4 4h8v8H4z",
  warn: "M8 2 1.5 13.5h13zM8 6.5v3.2M8 11.6v.1",
  file: "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3",
  image: "M2 3h12v10H2zM2 11l3.5-3.5 3 3L11 8l3 3M10.5 6v.1",
  tree: "M4 3.5v9M4 8h4a3 3 0 0 0 3-3v-.5M11.2 4.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4 3.5a1 1 0 1 0 0-2 1 1 0 0 0 0 2ZM4 14.5a1 1 0 1 0 0-2 1 1 0 0 0 0 2Z",
  threads: "M2.5 4h11M2.5 8h11M2.5 12h7",
  chart: "M2.5 13.5h11M4.5 11V8M8 11V3M11.5 11V6",
  tool: "M13.6 4.3a3.5 3.5 0 0 1-4.7 4.2L4.4 13a1.4 1.4 0 0 1-2-2l4.5-4.5a3.5 3.5 0 0 1 4.2-4.7L9.2 3.7l.6 2 2 .6z",
  edit: "M10.5 3 13 5.5 5.5 13H3v-2.5z",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9",
  pin: "M5 1.8h6M6 2v4.2L4 9h8l-2-2.8V2M8 9v5.5",
  filter: "M2 3h12l-4.5 5.5V13l-3 1.2V8.5z",
  download: "M8 2v8M5 7.3 8 10l3-2.7M2.5 13.5h11",
  up: "M3.5 9.5 8 5l4.5 4.5",
  swap: "M2 5h11l-3-3M14 11H3l3 3",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
