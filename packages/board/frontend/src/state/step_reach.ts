/** Which steps the global step cursor goes over. */

export interface SteppedSeries {
  n: number;
  firstStep: number;
  lastStep: number;
}

export interface StepReach<T> {
  lo: number;
  hi: number;
  /** The series with the most steps within. */
  longest: T;
  /** How many series have steps beyond: too far away for a slider that also reaches all others. */
  beyond: number;
}

/** Nine tenths of the points decide; what is this many times as far away is beyond. */
const MOST_POINTS = 0.9;
const FAR = 1000;
/** Steps nearer than this are never beyond. */
const NEAR = 1_000_000;

/**
 * The range of steps of all series, without those that are far beyond most points: a single tag with a step of
 * 2^62 would leave one position of the slider to all others.
 */
export function stepReachOf<T extends SteppedSeries>(series: readonly T[]): StepReach<T> | null {
  const there = series.filter((one) => one.n > 0);
  if (!there.length) return null;
  const farthest = (one: T) => Math.max(Math.abs(one.firstStep), Math.abs(one.lastStep));
  const byReach = [...there].sort((a, b) => farthest(a) - farthest(b));
  const points = there.reduce((sum, one) => sum + one.n, 0);
  let passed = 0;
  let usual = 0;
  for (const one of byReach) {
    passed += one.n;
    usual = farthest(one);
    if (passed >= MOST_POINTS * points) break;
  }
  const limit = Math.max(NEAR, FAR * usual);
  const within = byReach.filter((one) => farthest(one) <= limit);
  const longest = within.reduce((a, b) => (b.lastStep - b.firstStep > a.lastStep - a.firstStep ? b : a));
  return {
    lo: Math.min(...bounded(within.map((one) => one.firstStep))),
    hi: Math.max(...bounded(within.map((one) => one.lastStep))),
    longest,
    beyond: there.length - within.length,
  };
}

/** The least and the greatest of many numbers: a call cannot take a hundred thousand arguments. */
function bounded(values: number[]): [number, number] {
  let [lo, hi] = [values[0]!, values[0]!];
  for (const value of values) {
    if (value < lo) lo = value;
    if (value > hi) hi = value;
  }
  return [lo, hi];
}
