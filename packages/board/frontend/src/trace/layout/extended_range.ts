/** A range of time that keys extend and shorten: one end stays, the other moves from item to item. */
import { itemsBetween, type TraceItems } from '../data/trace_items.ts';

export interface ExtendedRange {
  /** The range that it started from, which it always contains. */
  from: { t0: number; t1: number };
  /** The end that moves. */
  end: number;
}

export function rangeOf({ from, end }: ExtendedRange): { t0: number; t1: number } {
  return { t0: Math.min(from.t0, end), t1: Math.max(from.t1, end) };
}

/** Moves the end to the next edge of an item of a track; null if there is none that way. */
export function extendedToNextItem(
  range: ExtendedRange,
  items: TraceItems,
  lane: number,
  by: 1 | -1,
): ExtendedRange | null {
  const { start, dur } = items.columns;
  const [from, to] = itemsBetween(items, lane, -Number.MAX_VALUE, Number.MAX_VALUE);
  const { from: kept, end } = range;
  let best: number | null = null;
  const offer = (time: number) => {
    if (by > 0 ? time <= end : time >= end) return;
    if (best === null || (by > 0 ? time < best : time > best)) best = time;
  };
  // Right of the first range it stops at the ends of items, left of it at their starts.
  for (let i = from; i < to; i++) {
    const last = start[i]! + dur[i]!;
    if (last > kept.t1) offer(last);
    if (start[i]! < kept.t0) offer(start[i]!);
  }
  // On the way back it stops at the first range; from there on, the other end moves.
  if (by > 0 && end < kept.t0 && (best === null || best > kept.t0)) best = kept.t1;
  if (by < 0 && end > kept.t1 && (best === null || best < kept.t1)) best = kept.t1;
  return best === null ? null : { from: kept, end: best };
}
