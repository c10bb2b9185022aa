/** Durations, moments, sizes and amounts as a person reads them. */

/** `812ms`, `1.4s`, `2m 05s`, `1h 03m`: as short as it can be without lying. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "–";
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${pad(seconds % 60)}s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)}h ${pad(minutes % 60)}m`;
}

/** Above this a duration is pointed out [trace-and-cook, section 11]. */
export const SLOW_MS = 5000;

export function isSlow(ms: number): boolean {
  return ms > SLOW_MS;
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = size;
  let unit = "B";
  for (const next of units) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** `1234` as `1,234`; from ten thousand on `12.3k`, `4.5M`: charts and rows are narrow. */
export function count(value: number): string {
  const sign = value < 0 ? "-" : "";
  const amount = Math.abs(value);
  if (amount < 10_000) return sign + grouped(amount);
  if (amount < 999_950) return `${sign}${trimmed(amount / 1000)}k`;
  if (amount < 999_950_000) return `${sign}${trimmed(amount / 1e6)}M`;
  return `${sign}${trimmed(amount / 1e9)}G`;
}

export function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Money in dollars: two digits when there are dollars, more when there are only fractions of a cent. */
export function money(dollars: number): string {
  if (dollars === 0) return "$0";
  const amount = Math.abs(dollars);
  if (amount >= 100) return `$${grouped(dollars)}`;
  if (amount >= 0.1) return `$${dollars.toFixed(2)}`;
  if (amount >= 0.001) return `$${dollars.toFixed(4).replace(/0{1,2}$/, "")}`;
  return `$${dollars.toPrecision(1)}`;
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const share = (100 * part) / whole;
  if (share > 0 && share < 1) return "<1%";
  if (share < 100 && share > 99) return ">99%";
  return `${Math.round(share)}%`;
}

/** Local date and time to the second, the same everywhere: `2026-03-01 14:05:09`. */
export function moment(at: number): string {
  if (!Number.isFinite(at) || at <= 0) return "no time";
  const d = new Date(at);
  return `${day(at)} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

export function day(at: number): string {
  const d = new Date(at);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
}

export function clock(at: number): string {
  if (!Number.isFinite(at) || at <= 0) return "";
  const d = new Date(at);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

/** `just now`, `5 min ago`, `3 h ago`, then the date. */
export function ago(at: number, now: number): string {
  const seconds = (now - at) / 1000;
  if (!Number.isFinite(at) || at <= 0) return "no time";
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)} d ago`;
  return day(at);
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

function trimmed(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}
