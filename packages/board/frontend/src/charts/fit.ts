/** The ranges of axes that fit their data. */
import type { Scale } from '../units/ticks.ts';
import { type Curve, type Numbers, type Span, SUPERSEDED } from './chart_model.ts';

/** The least and the greatest x of all curves; only above 0 for a logarithmic axis. */
export function fitX(curves: Curve[], log: boolean): Span | null {
  let lo = Number.POSITIVE_INFINITY;
  let hi = Number.NEGATIVE_INFINITY;
  for (const { x } of curves) {
    if (x.length === 0) continue;
    let first = 0;
    if (log) while (first < x.length && x[first]! <= 0) first++;
    if (first === x.length) continue;
    lo = Math.min(lo, x[first]!);
    hi = Math.max(hi, x[x.length - 1]!);
  }
  if (lo > hi) return null;
  if (lo === hi) return log ? [lo / 2, lo * 2] : [lo - 0.5, lo + 0.5];
  return [lo, hi];
}

/** First index whose x is not below `value`. */
export function lowerBound(x: Float64Array, value: number): number {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const MOST_SORTED = 20_000;

/** The range of y within a range of x; without the outermost twentieths if outliers are left out. */
export function fitY(curves: Curve[], [from, to]: Span, scale: Scale, withoutOutliers: boolean): Span | null {
  let lo = Number.POSITIVE_INFINITY;
  let hi = Number.NEGATIVE_INFINITY;
  let total = 0;
  const log = scale === 'log';
  const each = (visit: (values: Numbers, begin: number, end: number, flags: Uint8Array | null) => void) => {
    for (const curve of curves) {
      const begin = lowerBound(curve.x, from);
      const end = Math.min(curve.x.length, lowerBound(curve.x, to) + 1);
      for (const values of [curve.y, curve.raw, curve.lo, curve.hi]) {
        if (values) visit(values, begin, end, curve.flags);
      }
    }
  };
  each((values, begin, end) => {
    total += end - begin;
    for (let i = begin; i < end; i++) {
      const v = values[i]!;
      if (v < lo && v > Number.NEGATIVE_INFINITY && (!log || v > 0)) lo = v;
      if (v > hi && v < Number.POSITIVE_INFINITY && (!log || v > 0)) hi = v;
    }
  });
  if (lo > hi) return null;
  if (withoutOutliers && total > 0) {
    const stride = Math.max(1, Math.ceil(total / MOST_SORTED));
    const sample: number[] = [];
    let at = 0;
    each((values, begin, end, flags) => {
      for (let i = begin; i < end; i++) {
        if (at++ % stride !== 0 || (flags && flags[i]! & SUPERSEDED)) continue;
        const v = values[i]!;
        if (Number.isFinite(v) && (!log || v > 0)) sample.push(v);
      }
    });
    if (sample.length > 0) {
      const sorted = Float64Array.from(sample).sort();
      lo = sorted[Math.floor((sorted.length - 1) * 0.05)]!;
      hi = sorted[Math.ceil((sorted.length - 1) * 0.95)]!;
    }
  }
  return padded([lo, hi], scale);
}

/** A little room above and below; a span of nothing gets one. */
export function padded([lo, hi]: Span, scale: Scale): Span {
  if (lo === hi) {
    if (scale === 'log') return [lo / 2, hi * 2];
    const room = Math.abs(lo) * 0.1 || 1;
    return [lo - room, hi + room];
  }
  if (scale === 'log') {
    const factor = (hi / lo) ** 0.04;
    return [lo / factor, hi * factor];
  }
  const room = (hi - lo) * 0.04;
  return [lo - room, hi + room];
}
