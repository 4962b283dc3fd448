/** A column as an axis: where its values lie between 0 and 1. */
import { prefixedNumber } from '../units/numbers.ts';
import { roundTicks } from '../units/ticks.ts';
import { type Filter, meets, parseFilter, rangeText, wordsText } from './filter.ts';
import type { Cell, Column } from './model.ts';

export interface Axis {
  column: Column;
  log: boolean;
  /** Words in order, of an axis of words; empty of an axis of numbers. */
  words: string[];
  lo: number;
  hi: number;
}

const LOG_FROM_RATIO = 100;

/** `flipped`: the other scale than the one that the values suggest. */
export function axisOf(column: Column, flipped = false): Axis {
  if (column.kind !== 'number') {
    const words = [...new Set(column.cells.filter((cell) => cell !== null).map(String))];
    words.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    return { column, log: false, words, lo: 0, hi: words.length };
  }
  const numbers = column.cells.filter((c): c is number => typeof c === 'number' && Number.isFinite(c));
  const lo = numbers.length ? Math.min(...numbers) : 0;
  const hi = numbers.length ? Math.max(...numbers) : 1;
  const can = lo > 0;
  const suggested = can && hi / lo >= LOG_FROM_RATIO;
  return { column, log: can && suggested !== flipped, words: [], lo, hi };
}

/** 0 at the least value, 1 at the greatest; null of what has no place. */
export function placeOf(axis: Axis, cell: Cell): number | null {
  if (cell === null) return null;
  if (axis.words.length || axis.column.kind !== 'number') {
    const at = axis.words.indexOf(String(cell));
    return at < 0 ? null : (at + 0.5) / axis.words.length;
  }
  if (typeof cell !== 'number' || !Number.isFinite(cell)) return null;
  if (axis.hi === axis.lo) return 0.5;
  return axis.log
    ? Math.log(cell / axis.lo) / Math.log(axis.hi / axis.lo)
    : (cell - axis.lo) / (axis.hi - axis.lo);
}

/** The value at a place of an axis of numbers. */
export function valueAtPlace(axis: Axis, place: number): number {
  return axis.log ? axis.lo * (axis.hi / axis.lo) ** place : axis.lo + (axis.hi - axis.lo) * place;
}

/** The text of a filter for a stretch of the axis; '' where it is all of it. */
export function brushText(axis: Axis, from: number, to: number): string {
  const [a, b] = from < to ? [from, to] : [to, from];
  if (a <= 0 && b >= 1) return '';
  if (axis.column.kind !== 'number') {
    return wordsText(
      axis.words.filter((_, i) => {
        const at = (i + 0.5) / axis.words.length;
        return at >= a && at <= b;
      }),
    );
  }
  return rangeText(
    a <= 0 ? Number.NEGATIVE_INFINITY : valueAtPlace(axis, a),
    b >= 1 ? Number.POSITIVE_INFINITY : valueAtPlace(axis, b),
  );
}

/** Where a filter lies on an axis: from, to; null of one that has no place on it. */
export function brushPlace(axis: Axis, text: string): [number, number] | null {
  const filter = parseFilter(text);
  if (!filter) return null;
  if (filter.kind === 'range') {
    if (axis.column.kind !== 'number') return null;
    const end = (value: number, beyond: number) =>
      Number.isFinite(value) ? (placeOf(axis, Math.max(value, axis.log ? 1e-300 : value)) ?? beyond) : beyond;
    const clip = (place: number) => Math.max(0, Math.min(1, place));
    return [clip(end(filter.lo, 0)), clip(end(filter.hi, 1))];
  }
  const hits = axis.words.flatMap((word, i) => (meets(filter, word) ? [i] : []));
  if (!hits.length) return null;
  return [hits[0]! / axis.words.length, (hits[hits.length - 1]! + 1) / axis.words.length];
}

export interface AxisTick {
  place: number;
  label: string;
}

export function axisTicks(axis: Axis, count: number): AxisTick[] {
  if (axis.column.kind !== 'number') {
    const every = Math.max(1, Math.ceil(axis.words.length / Math.max(1, count * 2)));
    return axis.words
      .map((word, i) => ({ place: (i + 0.5) / axis.words.length, label: word }))
      .filter((_, i) => i % every === 0);
  }
  if (axis.hi === axis.lo) return [{ place: 0.5, label: prefixedNumber(axis.lo) }];
  const values = axis.column.role === 'param' ? discreteValues(axis, count) : null;
  if (values) return values.map((value) => ({ place: placeOf(axis, value)!, label: prefixedNumber(value) }));
  if (!axis.log) {
    return roundTicks(axis.lo, axis.hi, count).map((value) => ({
      place: placeOf(axis, value)!,
      label: prefixedNumber(value),
    }));
  }
  const out: AxisTick[] = [];
  const decades = Math.log10(axis.hi / axis.lo);
  const every = Math.max(1, Math.ceil(decades / Math.max(1, count)));
  for (
    let power = Math.ceil(Math.log10(axis.lo) - 1e-9);
    10 ** power <= axis.hi * (1 + 1e-9);
    power += every
  ) {
    out.push({ place: placeOf(axis, 10 ** power)!, label: prefixedNumber(10 ** power) });
  }
  return out.length > 1
    ? out
    : [
        { place: 0, label: prefixedNumber(axis.lo) },
        { place: 1, label: prefixedNumber(axis.hi) },
      ];
}

const MOST_DISCRETE = 12;

/** The values of a hyperparameter of which few were tried and all have room as ticks; null of any other. */
function discreteValues(axis: Axis, count: number): number[] | null {
  const tried = axis.column.cells.filter((c): c is number => typeof c === 'number' && Number.isFinite(c));
  const values = [...new Set(tried)].sort((a, b) => a - b);
  if (values.length > MOST_DISCRETE) return null;
  const least = 0.4 / Math.max(1, count);
  const places = values.map((value) => placeOf(axis, value)!);
  return places.every((place, i) => i === 0 || place - places[i - 1]! >= least) ? values : null;
}

/** Rows that meet every filter, by column id. Filters of columns that are not there are ignored. */
export function rowsThatMeet(columns: Column[], filters: Record<string, string>, rows: number): number[] {
  const active: [Column, Filter][] = [];
  for (const column of columns) {
    const filter = Object.hasOwn(filters, column.id) ? parseFilter(filters[column.id]!) : null;
    if (filter) active.push([column, filter]);
  }
  return Array.from({ length: rows }, (_, row) => row).filter((row) =>
    active.every(([column, filter]) => meets(filter, column.cells[row]!)),
  );
}
