/** Draws the selection: a slice, the slices of a node, an area, a marked range. */

import { edges } from '../data/trace_items.ts';
import { topOf, trackHeight } from '../layout/rows.ts';
import { spanOf, type TimeView } from '../layout/time_view.ts';
import { type Context, middles, type TimelineScene } from './timeline_scene.ts';

/** Marks the slices of the selected node, also where they are merged. */
export function drawMarkedPlaces(on: Context, picture: TimelineScene): void {
  const { view, width, ink, sections } = picture;
  const scale = width / spanOf(view);
  on.fillStyle = ink.accent;
  sections.forEach((section, s) => {
    const middle = middles(picture, s);
    let last = Number.NEGATIVE_INFINITY;
    for (const place of section.marked) {
      const x = (place.start + place.dur / 2 - view.t0) * scale;
      if (x < -4 || x > width + 4 || x - last < 2) continue;
      const y = middle(place.lane);
      if (y === null) continue;
      last = x;
      const top = y - trackHeight(picture.rows, s, place.lane) / 2;
      on.beginPath();
      on.moveTo(x - 4, top);
      on.lineTo(x + 4, top);
      on.lineTo(x, top + 5);
      on.closePath();
      on.fill();
    }
  });
}

export function drawSelection(on: Context, picture: TimelineScene): void {
  const { selected, hovered, sections, view, width, ink } = picture;
  const scale = width / spanOf(view);
  const outline = (section: number, lane: number, start: number, dur: number, weight: number) => {
    const row = picture.rows.find((r) => r.section === section && r.lanes.includes(lane));
    if (!row) return;
    const each = row.height / row.lanes.length;
    const y = topOf(row, picture.scroll) + row.lanes.indexOf(lane) * each;
    const [left, right] = edges(start, dur, view.t0, scale, 2);
    if (right < 0 || left > width) return;
    on.lineWidth = weight;
    const air = each > 14 ? 1.5 : 0.5;
    const x0 = Math.max(-4, left);
    on.strokeRect(x0, y + air, Math.min(width + 4, right) - x0, each - 2 * air);
  };
  if (hovered) {
    const section = sections.findIndex((one) => one.trace === hovered.trace);
    on.strokeStyle = ink.soft;
    if (section >= 0) outline(section, hovered.lane, hovered.start, hovered.dur, 1);
  }
  if (selected) {
    const section = sections.findIndex((one) => one.trace === selected.trace);
    on.strokeStyle = ink.accent;
    if (section >= 0) outline(section, selected.lane, selected.start, selected.dur, 2);
  }
}

export function drawArea(on: Context, picture: TimelineScene): void {
  const { area, view, width, height, ink, rows, scroll, sections } = picture;
  if (!area) return;
  const scale = width / spanOf(view);
  const left = (area.t0 - view.t0) * scale;
  const right = (area.t1 - view.t0) * scale;
  const section = sections.findIndex((one) => one.trace === area.trace);
  const mine = rows.filter(
    (row) =>
      row.section === section &&
      (area.lanes === null || row.lanes.some((lane) => area.lanes!.includes(lane))),
  );
  on.strokeStyle = ink.accent;
  on.fillStyle = ink.accent;
  on.lineWidth = 1;
  // Pinned tracks are apart from the others.
  for (const block of [mine.filter((row) => row.pinned), mine.filter((row) => !row.pinned)]) {
    const [first, last] = [block[0], block.at(-1)];
    if (mine.length > 0 && !(first && last)) continue;
    const top = first ? topOf(first, scroll) : 0;
    const bottom = last ? topOf(last, scroll) + last.height : height;
    on.globalAlpha = 0.1;
    on.fillRect(left, top, right - left, bottom - top);
    on.globalAlpha = 1;
    on.strokeRect(Math.round(left) + 0.5, top + 0.5, Math.round(right - left) - 1, bottom - top - 1);
  }
}

export function drawMark(on: Context, { mark, width, height, ink }: TimelineScene, view: TimeView): void {
  if (!mark) return;
  const scale = width / spanOf(view);
  const left = Math.round((mark.t0 - view.t0) * scale);
  const right = Math.round((mark.t1 - view.t0) * scale);
  on.fillStyle = ink.accent;
  on.globalAlpha = 0.08;
  on.fillRect(left, 0, right - left, height);
  on.globalAlpha = 1;
  on.fillRect(left, 0, 1, height);
  if (right > left) on.fillRect(right, 0, 1, height);
}
