/** The items of a reply of /trace/ID, indexed by track and time. */

export const OP = 0;
export const RECV = 2;
export const MERGED = 5;
export const SYNC = 6;

/** Levels of how full a merged item is; the last level is that of a single slice. */
export const LEVELS = 8;

export interface ItemColumns {
  lane: ArrayLike<number>;
  start: ArrayLike<number>;
  dur: ArrayLike<number>;
  name: ArrayLike<number>;
  op: ArrayLike<number>;
  kind: ArrayLike<number>;
  busy: ArrayLike<number>;
  count: ArrayLike<number>;
  slice: ArrayLike<number>;
  wait: ArrayLike<number>;
  critical: ArrayLike<number>;
}

export interface TraceItems {
  t0: number;
  t1: number;
  columns: ItemColumns;
  names: string[];
  /** Where the items of each track begin, with the end of the last one. */
  first: Int32Array;
}

/** Joins replies about different tracks, in order of tracks. */
export function joinItems(parts: { columns: ItemColumns; names: string[] }[]): {
  columns: ItemColumns;
  names: string[];
} {
  if (parts.length === 1) return parts[0]!;
  const names: string[] = [];
  const joined: Record<string, number[]> = {};
  for (const part of parts) {
    for (const [key, column] of Object.entries(part.columns) as [string, ArrayLike<number>][]) {
      joined[key] ??= [];
      const to = joined[key];
      const moved = key === 'name' ? names.length : 0;
      for (let i = 0; i < column.length; i++) to.push(column[i]! + moved);
    }
    names.push(...part.names);
  }
  return { columns: joined as unknown as ItemColumns, names };
}

export function indexItems(
  columns: ItemColumns,
  names: string[],
  lanes: number,
  t0: number,
  t1: number,
): TraceItems {
  const first = new Int32Array(lanes + 1);
  for (let i = 0; i < columns.lane.length; i++) first[columns.lane[i]! + 1]!++;
  for (let l = 0; l < lanes; l++) first[l + 1]! += first[l]!;
  return { t0, t1, columns, names, first };
}

/** The items of a track that overlap a window: [from, to). */
export function itemsBetween(items: TraceItems, lane: number, t0: number, t1: number): [number, number] {
  const { start, dur } = items.columns;
  const begin = items.first[lane] ?? 0;
  const end = items.first[lane + 1] ?? begin;
  // Items of a track do not overlap, so their ends are in order as well as their starts.
  const from = lowest(begin, end, (i) => start[i]! + dur[i]! >= t0);
  const to = lowest(from, end, (i) => start[i]! > t1);
  return [from, to];
}

/** The item of a track at a time, or the nearest within `slop`; -1 if there is none. */
export function itemAt(items: TraceItems, lane: number, time: number, slop: number): number {
  const { start, dur } = items.columns;
  const [from, to] = itemsBetween(items, lane, time - slop, time + slop);
  let best = -1;
  let nearest = Number.POSITIVE_INFINITY;
  for (let i = from; i < to; i++) {
    const away = Math.max(start[i]! - time, time - start[i]! - dur[i]!, 0);
    if (away < nearest) {
      nearest = away;
      best = i;
    }
  }
  return best;
}

/** The first index of [low, high) for which `good` holds, given that it then holds for all later ones; else high. */
export function lowest(low: number, high: number, good: (i: number) => boolean): number {
  let a = low;
  let b = high;
  while (a < b) {
    const middle = (a + b) >> 1;
    if (good(middle)) b = middle;
    else a = middle + 1;
  }
  return a;
}

/** Left and right edge of an item on the page, at least a device pixel apart. */
export function edges(
  start: number,
  dur: number,
  t0: number,
  scale: number,
  least: number,
): [number, number] {
  const left = (start - t0) * scale;
  const right = (start + dur - t0) * scale;
  return right - left < least ? [left, left + least] : [left, right];
}

/** The start of the visible part of a wait, which the previous slice may cover. */
export function waitFrom(start: number, wait: number, previousEnd: number): number {
  return Math.max(start - wait, previousEnd);
}

export interface Window {
  t0: number;
  t1: number;
  px: number;
}

const LEAST_PX = 16;
const MOST_PX = 8192;

/** The range to request: the window and `around` times its width on each side. */
export function windowToRequest(
  t0: number,
  t1: number,
  width: number,
  duration: number,
  around: number,
): Window {
  const span = t1 - t0;
  const low = Math.max(0, t0 - span * around);
  const high = Math.min(duration, t1 + span * around);
  const px = Math.min(MOST_PX, Math.max(LEAST_PX, Math.ceil((width * (high - low)) / span)));
  return { t0: low, t1: high, px };
}

/** Whether a fetched range suffices for a window: covers it, at about the needed resolution. */
export function stillSufficient(
  had: Window,
  t0: number,
  t1: number,
  width: number,
  duration: number,
): boolean {
  if (t1 <= 0 || t0 >= duration) return true; // no part of the step is visible
  const covers = had.t0 <= Math.max(t0, 0) + 1e-6 && had.t1 >= Math.min(t1, duration) - 1e-6;
  const sharpness = (t1 - t0) / width / ((had.t1 - had.t0) / had.px);
  // At the limits of the resolution nothing coarser or finer can be requested.
  const coarse = sharpness <= 0.66 && had.px < MOST_PX;
  const fine = sharpness >= 1.5 && had.px > LEAST_PX;
  return covers && !coarse && !fine;
}
