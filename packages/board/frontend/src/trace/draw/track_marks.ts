/** Divides the items of a track at a zoom level: narrow ones become pixels, wide ones are drawn one by one. */

import { edges, itemsBetween, LEVELS, MERGED, RECV, SYNC, waitFrom } from '../data/trace_items.ts';
import { spanOf } from '../layout/time_view.ts';
import type { PixelRows } from './pixel_rows.ts';
import type { DrawnSection, TimelineScene } from './timeline_scene.ts';

/** Items up to this wide, in device pixels, have no gap, no border and no name. */
const NARROW = 3;
const WAIT_FROM = 2;

/** An item that is drawn on its own; edges in CSS pixels. */
export interface WideItem {
  item: number;
  left: number;
  right: number;
  level: number;
  /** Whether other items are emphasised. */
  dim: boolean;
  waiting: boolean;
}

export interface TrackMarks {
  wide: WideItem[];
  /** Waits before slices, in triples: item, left edge, right edge. */
  waits: number[];
}

/**
 * Paints the narrow items of a track into a row of pixels, and those on the critical
 * path into another.
 *
 * Args:
 *   onPath: the row for the critical path; null if it is not shown.
 *   waits: whether there is room for waits.
 */
export function marksOfTrack(
  picture: Pick<TimelineScene, 'view' | 'width' | 'ratio' | 'critical' | 'found'>,
  { items, painted }: DrawnSection,
  lane: number,
  pixels: PixelRows,
  row: number,
  onPath: { row: number; pixel: number } | null,
  waits: boolean,
): TrackMarks {
  const marks: TrackMarks = { wide: [], waits: [] };
  if (!items || !painted) return marks;
  const { view, width, ratio, critical, found } = picture;
  const scale = width / spanOf(view);
  const { start, dur, kind, busy, wait, critical: share, name } = items.columns;
  const [from, to] = itemsBetween(items, lane, view.t0, view.t1);
  const last = Math.round((width + 1) * ratio);
  const first = -Math.round(ratio);
  let done = first - 1;
  for (let i = from; i < to; i++) {
    const [begin, end] = edges(start[i]!, dur[i]!, view.t0, scale, 1 / ratio);
    let left = Math.max(first, Math.round(begin * ratio));
    let right = Math.min(last, Math.round(end * ratio));
    if (right <= done) continue;
    if (left < done) left = done;
    if (right <= left) right = left + 1;
    const merged = kind[i] === MERGED;
    const waiting = kind[i] === RECV || kind[i] === SYNC;
    const level = merged ? Math.round(busy[i]! * LEVELS) : waiting ? 2 : LEVELS;
    const dim = (critical && share[i]! < 0.25) || (found !== null && !found.has(items.names[name[i]!]!));
    if (waits && !merged && wait[i]! > 0) {
      const before = i > from ? start[i - 1]! + dur[i - 1]! : -Number.MAX_VALUE;
      const since = Math.max(-1, (waitFrom(start[i]!, wait[i]!, before) - view.t0) * scale);
      if (left / ratio - since > WAIT_FROM) marks.waits.push(i, since, left / ratio);
    }
    if (right - left <= NARROW * ratio || merged) {
      const tone = painted.tones[painted.tone[i]!]!;
      pixels.paint(row, left, right, (dim ? tone.dimmedPixels : tone.pixels)[level]!);
      if (onPath && !dim) pixels.paint(onPath.row, left, right, onPath.pixel);
    } else {
      marks.wide.push({ item: i, left: left / ratio, right: right / ratio, level, dim, waiting });
    }
    done = right;
  }
  return marks;
}
