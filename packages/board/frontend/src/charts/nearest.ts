/** Which points a cross-hair at an x touches. */
import { type ChartView, type Curve, type Plot, SUPERSEDED } from './chart_model.ts';
import { frameOf } from './draw_chart.ts';
import { lowerBound } from './fit.ts';

export interface Touch {
  curve: Curve;
  index: number;
  /** In pixels of the chart; NaN where the value cannot be drawn. */
  px: number;
  py: number;
}

/** Index of the curve's point that is nearest to an x; superseded ones do not count. -1: none. */
export function nearestIndex(curve: Curve, x: number): number {
  const { x: xs, flags } = curve;
  if (xs.length === 0) return -1;
  const isOld = (i: number) => flags !== null && (flags[i]! & SUPERSEDED) !== 0;
  let after = lowerBound(xs, x);
  while (after < xs.length && isOld(after)) after++;
  let before = Math.min(after, xs.length) - 1;
  while (before >= 0 && isOld(before)) before--;
  if (after >= xs.length) return before;
  if (before < 0) return after;
  return x - xs[before]! < xs[after]! - x ? before : after;
}

/** One point of each curve whose points reach x, or whose nearest end is near in pixels. */
export function touches(curves: Curve[], view: ChartView, plot: Plot, x: number): Touch[] {
  const found: Touch[] = [];
  for (const curve of curves) {
    const index = nearestIndex(curve, x);
    if (index < 0) continue;
    const frame = frameOf(view, plot, curve);
    const px = plot.left + frame.x.to(curve.x[index]!) * plot.width;
    const pointer = plot.left + frame.x.to(x) * plot.width;
    const last = curve.x.length - 1;
    const isBeyond = x < curve.x[0]! || x > curve.x[last]!;
    if (isBeyond && Math.abs(px - pointer) > 24) continue;
    const py = plot.top + plot.height - frame.y.to(curve.y[index]!) * plot.height;
    found.push({ curve, index, px, py });
  }
  return found;
}

export type TouchOrder = 'nearest' | 'highest' | 'lowest' | 'name';

export function orderTouches(found: Touch[], order: TouchOrder, pointerY: number): Touch[] {
  const value = (t: Touch) => {
    const v = t.curve.y[t.index]!;
    return Number.isNaN(v) ? Number.NEGATIVE_INFINITY : v;
  };
  const distance = (t: Touch) => (Number.isFinite(t.py) ? Math.abs(t.py - pointerY) : 1e9);
  const sorted = [...found];
  if (order === 'nearest') sorted.sort((a, b) => distance(a) - distance(b));
  else if (order === 'highest') sorted.sort((a, b) => value(b) - value(a));
  else if (order === 'lowest') sorted.sort((a, b) => value(a) - value(b));
  else sorted.sort((a, b) => (a.curve.label < b.curve.label ? -1 : 1));
  return sorted;
}
