/** Extends an area by keys, slice by slice and track by track, starting from the selected slice. */

import { windowOfTime } from '../address/address_fields.ts';
import { type ExtendedRange, extendedToNextItem, rangeOf } from '../layout/extended_range.ts';
import { panBy, spanOf } from '../layout/time_view.ts';
import { selectArea } from '../state/trace_selection.ts';
import {
  type Area,
  duration,
  rows,
  selectedArea,
  selectedSlice,
  shown,
  timeView,
} from '../state/trace_state.ts';
import { modelOfSection } from './hit_test.ts';

/** The area that keys extended last; it counts only while it is the selected one. */
let grown: { area: Area; range: ExtendedRange; lane: number; lastTrack: number } | null = null;

function begun(): NonNullable<typeof grown> | null {
  const area = selectedArea.peek();
  if (grown && area === grown.area) return grown;
  const slice = selectedSlice.peek();
  if (slice) {
    const from = { t0: slice.start, t1: Math.max(slice.start + 1, slice.start + slice.dur) };
    const lanes = [slice.lane];
    grown = {
      area: { trace: slice.trace, ...from, lanes },
      range: { from, end: from.t1 },
      lane: slice.lane,
      lastTrack: slice.lane,
    };
    return grown;
  }
  const view = timeView.peek();
  const row = rows.peek().find((one) => one.kind === 'track');
  const model = row && modelOfSection(row.section);
  if (!row || !model) return null;
  const middle = Math.max(0, (view.t0 + view.t1) / 2);
  const from = area ? { t0: area.t0, t1: area.t1 } : { t0: middle, t1: middle + 1 };
  const lane = area?.lanes?.[0] ?? row.lanes[0]!;
  grown = {
    area: { trace: area?.trace ?? model.id, ...from, lanes: area?.lanes ?? [lane] },
    range: { from, end: from.t1 },
    lane,
    lastTrack: area?.lanes?.at(-1) ?? lane,
  };
  return grown;
}

/** Moves the end of the area to the next slice. */
export function extendArea(by: 1 | -1): void {
  const now = begun();
  const items = now && shown.peek().find((model) => model.id === now.area.trace)?.items;
  if (!now || !items) return;
  now.range = extendedToNextItem(now.range, items, now.lastTrack, by) ?? now.range;
  now.area = { ...now.area, ...rangeOf(now.range) };
  selectArea(now.area);
  const view = timeView.peek();
  const { end } = now.range;
  if (end < view.t0 || end > view.t1) {
    const moved = end - (end < view.t0 ? view.t0 : view.t1);
    windowOfTime.value = panBy(view, moved + by * 0.2 * spanOf(view), duration.peek());
  }
}

/** Adds the next track to the area, or removes the last one. */
export function extendAreaByTrack(by: 1 | -1): void {
  const now = begun();
  if (!now) return;
  const lanes = rows
    .peek()
    .filter((row) => row.kind === 'track' && modelOfSection(row.section)?.id === now.area.trace)
    .map((row) => row.lanes[0]!);
  const at = lanes.indexOf(now.lastTrack);
  const next = lanes[at + by];
  if (next === undefined) return;
  now.lastTrack = next;
  const [low, high] = [lanes.indexOf(now.lane), at + by].sort((a, b) => a - b);
  now.area = { ...now.area, lanes: lanes.slice(low, high! + 1) };
  selectArea(now.area);
}
