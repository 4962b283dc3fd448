/** Turns a curve into strokes: as many points as pixels can show, and no spike lost. */

import type { Pen } from '../scene/pen.ts';
import { type Curve, type Mapping, type Numbers, type Plot, SUPERSEDED } from './chart_model.ts';
import { lowerBound } from './fit.ts';

const FAR = 1e5;

export interface Frame {
  plot: Plot;
  x: Mapping;
  y: Mapping;
  /** The ends of the x axis. */
  from: number;
  to: number;
}

/** The part of the points that touches the x axis, with one more at either side. */
export function reach(x: Float64Array, from: number, to: number): [begin: number, end: number] {
  const begin = Math.max(0, lowerBound(x, from) - 1);
  let end = lowerBound(x, to);
  while (end < x.length && x[end] === to) end++;
  return [begin, Math.min(x.length, end + 1)];
}

/**
 * Adds a curve's points to the path. Where there are more than two points a pixel, each column of
 * pixels gets its first, least, greatest and last (with `extremes` only the middle two); a value that is not finite breaks the line.
 */
export function traceLine(
  pen: Pen,
  curve: Curve,
  values: Numbers,
  frame: Frame,
  superseded: boolean,
  dense = true,
  extremes = false,
): number {
  const { plot, x: mapX, y: mapY } = frame;
  const { x, flags } = curve;
  const [begin, end] = reach(x, frame.from, frame.to);
  const bottom = plot.top + plot.height;
  const merge = dense && end - begin > plot.width * 2;
  let open = false;
  let count = 0;
  let column = Number.NaN;
  let least = 0;
  let greatest = 0;
  let last = 0;
  let leastFirst = true;
  const finish = () => {
    if (Number.isNaN(column)) return;
    if (least === greatest) {
      if (extremes) pen.lineTo(column, least);
    } else {
      pen.lineTo(column, leastFirst ? least : greatest);
      pen.lineTo(column, leastFirst ? greatest : least);
    }
    if (!extremes && last !== (leastFirst ? greatest : least)) pen.lineTo(column, last);
    column = Number.NaN;
  };
  for (let i = begin; i < end; i++) {
    const isOld = flags !== null && (flags[i]! & SUPERSEDED) !== 0;
    if (isOld !== superseded) continue;
    const part = mapY.to(values[i]!);
    const at = mapX.to(x[i]!);
    if (!Number.isFinite(part) || !Number.isFinite(at)) {
      finish();
      open = false;
      continue;
    }
    const px = plot.left + Math.max(-FAR, Math.min(FAR, at * plot.width));
    const py = Math.max(-FAR, Math.min(FAR, bottom - part * plot.height));
    count++;
    if (!merge) {
      if (open) pen.lineTo(px, py);
      else {
        pen.moveTo(px, py);
        // A point between two gaps is a dot.
        if (isAlone(values, i, begin, end)) pen.rect(px - 0.75, py - 0.75, 1.5, 1.5);
      }
      open = true;
      continue;
    }
    const here = Math.round(px);
    if (here === column) {
      if (py < least) {
        least = py;
        leastFirst = false;
      }
      if (py > greatest) {
        greatest = py;
        leastFirst = true;
      }
      last = py;
      continue;
    }
    finish();
    if (!open) pen.moveTo(here, py);
    else if (!extremes) pen.lineTo(here, py);
    open = true;
    column = here;
    least = py;
    greatest = py;
    last = py;
    leastFirst = true;
  }
  finish();
  return count;
}

function isAlone(values: Numbers, i: number, begin: number, end: number): boolean {
  return (
    (i === begin || !Number.isFinite(values[i - 1]!)) && (i + 1 >= end || !Number.isFinite(values[i + 1]!))
  );
}
