/** Draws the overview of the whole step with the visible window, and the time ruler. */

import { momentInSpan, nanosecondsText } from '../../units/nanoseconds.ts';
import { rulerTicks } from '../../units/ticks.ts';
import { isWait, type Summary } from '../data/trace_api.ts';
import { LEVELS, MERGED, type TraceItems } from '../data/trace_items.ts';
import { spanOf, type TimeView } from '../layout/time_view.ts';
import { PixelRows } from './pixel_rows.ts';
import type { Painted, ThemeColours } from './trace_colours.ts';

type Context = CanvasRenderingContext2D;

const pixels = new PixelRows();

export function drawOverview(
  on: Context,
  width: number,
  height: number,
  items: TraceItems | null,
  painted: Painted | null,
  summary: Summary | null,
  full: TimeView,
  ink: ThemeColours,
  ratio: number,
): void {
  on.fillStyle = ink.sunken;
  on.fillRect(0, 0, width, height);
  if (!items || !painted) return;
  const lanes = items.first.length - 1;
  const each = Math.max(1, (height - 8) / Math.max(1, lanes));
  const scale = width / spanOf(full);
  const { lane, start, dur, busy, kind } = items.columns;
  const perPixel = ratio * scale;
  pixels.begin(Math.round(width * ratio), lanes);
  for (let i = 0; i < lane.length; i++) {
    const level = kind[i] === MERGED ? Math.round(busy[i]! * LEVELS) : LEVELS;
    const left = Math.round((start[i]! - full.t0) * perPixel);
    const right = Math.round((start[i]! + dur[i]! - full.t0) * perPixel);
    pixels.paint(lane[i]!, left, Math.max(left + 1, right), painted.tones[painted.tone[i]!]!.pixels[level]!);
  }
  pixels.end();
  for (let l = 0; l < lanes; l++) {
    pixels.draw(on, l, 0, 4 + l * each, width, Math.max(1, each - (each > 3 ? 1 : 0)));
  }
  on.fillStyle = ink.error;
  for (const stall of summary?.stalls.filter(isWait).slice(0, 40) ?? []) {
    const x = (stall.begin - full.t0) * scale;
    on.fillRect(x, height - 3, Math.max(3, stall.wait_ns * scale), 3);
  }
}

export function drawWindow(
  on: Context,
  width: number,
  height: number,
  full: TimeView,
  view: TimeView,
  ink: ThemeColours,
) {
  const scale = width / spanOf(full);
  const left = Math.max(0, (view.t0 - full.t0) * scale);
  const right = Math.min(width, Math.max(left + 2, (view.t1 - full.t0) * scale));
  on.fillStyle = ink.surface;
  on.globalAlpha = 0.62;
  on.fillRect(0, 0, left, height);
  on.fillRect(right, 0, width - right, height);
  on.globalAlpha = 1;
  on.strokeStyle = ink.accent;
  on.lineWidth = 1;
  on.strokeRect(Math.round(left) + 0.5, 0.5, Math.max(1, Math.round(right - left) - 1), height - 1);
  on.fillStyle = ink.accent;
  for (const x of [left, right]) on.fillRect(Math.round(x) - 1.5, height / 2 - 7, 3, 14);
}

export function drawRuler(
  on: Context,
  width: number,
  height: number,
  view: TimeView,
  ink: ThemeColours,
  cursor: number | null,
  range: { t0: number; t1: number } | null,
): void {
  on.fillStyle = ink.surface;
  on.fillRect(0, 0, width, height);
  const scale = width / spanOf(view);
  if (range) {
    const left = (range.t0 - view.t0) * scale;
    on.fillStyle = ink.accent;
    on.globalAlpha = 0.16;
    on.fillRect(left, 0, (range.t1 - range.t0) * scale, height);
    on.globalAlpha = 1;
  }
  on.font = `11px ${ink.font}`;
  on.textAlign = 'left';
  on.textBaseline = 'middle';
  for (const { time, label } of rulerTicks(view.t0, view.t1, width)) {
    const x = Math.round((time - view.t0) * scale);
    on.fillStyle = ink.strong;
    on.fillRect(x, height - 6, 1, 6);
    if (x + 4 + on.measureText(label).width > width) continue;
    on.fillStyle = ink.soft;
    on.fillText(label, x + 4, height / 2);
  }
  if (range) {
    const point = range.t0 === range.t1;
    const text = point ? momentInSpan(range.t0, spanOf(view)) : nanosecondsText(range.t1 - range.t0);
    const left = (range.t0 - view.t0) * scale;
    const middle = left + ((range.t1 - range.t0) * scale) / 2;
    label(on, text, middle, height, width, ink, ink.accent);
  } else if (cursor !== null) {
    const x = (cursor - view.t0) * scale;
    label(on, momentInSpan(cursor, spanOf(view)), x, height, width, ink, ink.soft);
  }
  on.fillStyle = ink.line;
  on.fillRect(0, height - 1, width, 1);
}

function label(
  on: Context,
  text: string,
  x: number,
  height: number,
  width: number,
  ink: ThemeColours,
  fill: string,
) {
  on.font = `600 11px ${ink.font}`;
  const size = on.measureText(text).width + 10;
  const left = Math.min(width - size, Math.max(0, x - size / 2));
  on.fillStyle = fill;
  on.fillRect(left, 2, size, height - 6);
  on.fillStyle = ink.surface;
  on.textAlign = 'left';
  on.fillText(text, left + 5, height / 2 - 1);
}
