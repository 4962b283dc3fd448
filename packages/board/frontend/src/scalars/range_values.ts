/** What a run's values did over a range of steps: start, end, change, least, greatest. */
import { NAN, NEGATIVE, POSITIVE, SUPERSEDED } from '../charts/chart_model.ts';
import { naturally } from '../strings/natural_order.ts';
import type { LoadedCurve } from './curves/curve_loader.ts';

/** Of the table in CSS pixels. */
export const RANGE_TABLE_HEIGHT = 150;

export interface RangeRow {
  run: string;
  tag: string;
  colour: string;
  from: number;
  to: number;
  start: number;
  end: number;
  change: number;
  min: number;
  max: number;
}

export type RangeColumn = 'run' | 'start' | 'end' | 'change' | 'min' | 'max';

const UNDRAWN = NAN | POSITIVE | NEGATIVE | SUPERSEDED;

/** Of the points within lo..hi that have finite values; null where there are none. */
export function rangeValues(
  { x, y, flags }: Pick<LoadedCurve, 'x' | 'y' | 'flags'>,
  lo: number | null,
  hi: number | null,
): Omit<RangeRow, 'run' | 'tag' | 'colour'> | null {
  let first = -1;
  let last = -1;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < x.length; i++) {
    // A reply has the nearest points outside the range as well.
    if ((lo !== null && x[i]! < lo) || (hi !== null && x[i]! > hi)) continue;
    const value = y[i]!;
    if ((flags && flags[i]! & UNDRAWN) || !Number.isFinite(value)) continue;
    if (first < 0) first = i;
    last = i;
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  if (first < 0) return null;
  const [start, end] = [y[first]!, y[last]!];
  return { from: x[first]!, to: x[last]!, start, end, change: end - start, min, max };
}

export function sortRows(rows: RangeRow[], by: RangeColumn, down: boolean): RangeRow[] {
  const order = (a: RangeRow, b: RangeRow) =>
    by === 'run' ? naturally(a.run, b.run) || naturally(a.tag, b.tag) : a[by] - b[by];
  return [...rows].sort((a, b) => (down ? order(b, a) : order(a, b)));
}
