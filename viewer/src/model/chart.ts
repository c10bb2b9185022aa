/** The same for durations in milliseconds, whose round numbers are others. */
export function timeSteps(largest: number): number[] {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
  if (largest <= second) return steps(largest);
  const rounds = [0.2 * second, 0.5 * second, second, 2 * second, 5 * second, 10 * second, 20 * second, minute / 2, minute, 2 * minute, 5 * minute, 10 * minute, 20 * minute, hour / 2, hour, 2 * hour, 5 * hour, 10 * hour, day];
  const step = rounds.find((each) => each * 3 >= largest);
  if (step === undefined) return steps(largest / day).map((days) => days * day);
  return Array.from({ length: Math.ceil(largest / step) + 1 }, (_, at) => at * step);
}

/** The round numbers at the side of a chart: from 0 to just above the largest value. */
export function steps(largest: number): number[] {
  if (!(largest > 0) || !Number.isFinite(largest)) return [0, 1];
  const rough = largest / 3;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * unit >= rough) ?? 10) * unit;
  const made: number[] = [];
  for (let at = 0; at * step < largest + step * 0.999; at += 1) made.push(Number((at * step).toPrecision(12)));
  return made;
}
