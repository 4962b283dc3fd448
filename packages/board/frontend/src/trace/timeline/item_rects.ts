/** The positions of items on the page, for tests. */

import { edges, itemsBetween } from '../data/trace_items.ts';
import { topOf } from '../layout/rows.ts';
import { spanOf } from '../layout/time_view.ts';
import { mainTrace, rows, timelineScroll, timelineWidth, timeView } from '../state/trace_state.ts';

export interface ItemRect {
  name: string;
  slice: number;
  lane: number;
  count: number;
  critical: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

const MOST = 20_000;

/** Rectangles in pixels of the browser window, at most the first MOST. */
export function layoutOf(): ItemRect[] {
  const canvas = document.querySelector('.trace-canvas')?.getBoundingClientRect();
  const items = mainTrace.peek()?.items;
  if (!canvas || !items) return [];
  const view = timeView.peek();
  const scroll = timelineScroll.peek();
  const scale = timelineWidth.peek() / spanOf(view);
  const { start, dur, name, slice, count, critical } = items.columns;
  const rects: ItemRect[] = [];
  for (const row of rows.peek()) {
    if (row.section !== 0) continue;
    const each = row.height / Math.max(1, row.lanes.length);
    row.lanes.forEach((lane, k) => {
      const [from, to] = itemsBetween(items, lane, view.t0, view.t1);
      for (let i = from; i < to && rects.length < MOST; i++) {
        const [left, right] = edges(start[i]!, dur[i]!, view.t0, scale, 1);
        rects.push({
          name: items.names[name[i]!]!,
          slice: slice[i]!,
          lane,
          count: count[i]!,
          critical: critical[i]!,
          x: canvas.left + left,
          y: canvas.top + topOf(row, scroll) + k * each,
          width: right - left,
          height: each,
        });
      }
    });
  }
  return rects;
}
