/** What a line chart shows, apart from how it is drawn. */
import type { Scale, Unit } from '../units/ticks.ts';

export type Numbers = Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;

/** Bits of `Curve.flags`, as the server sends them. */
export const NAN = 1;
export const POSITIVE = 2;
export const NEGATIVE = 4;
export const RESTART = 8;
export const SUPERSEDED = 16;

export interface Curve {
  id: string;
  label: string;
  run: number | null;
  tag: string;
  colour: string;
  dash: number[];
  /** Ascending. */
  x: Float64Array<ArrayBuffer>;
  y: Numbers;
  flags: Uint8Array<ArrayBuffer> | null;
  /** The data behind a smoothed y. */
  raw: Numbers | null;
  /** The band of a group. */
  lo: Numbers | null;
  hi: Numbers | null;
  /** On the right axis. */
  right: boolean;
  n: number;
  drawn: number;
  superseded: number;
}

export type Span = [lo: number, hi: number];

export interface ChartView {
  x: Span;
  y: Span;
  right: Span | null;
  xScale: 'linear' | 'log';
  yScale: Scale;
  xUnit: Unit;
  xName: string;
  /** Points beyond the y axis are marked at its ends. */
  marksClipped: boolean;
}

/** Where the plot lies within the chart, in CSS pixels. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** From data to [0, 1] and back, by the kind of scale. */
export interface Mapping {
  to(value: number): number;
  from(part: number): number;
}

export function mapping([lo, hi]: Span, scale: Scale): Mapping {
  const { forth, back } = transform(scale, [lo, hi]);
  const a = forth(lo);
  const b = forth(hi);
  const width = b - a || 1;
  return { to: (value) => (forth(value) - a) / width, from: (part) => back(a + part * width) };
}

/** The function that makes a scale even, and its inverse. */
export function transform(
  scale: Scale,
  [lo, hi]: Span,
): { forth: (v: number) => number; back: (v: number) => number } {
  if (scale === 'log') return { forth: (v) => (v > 0 ? Math.log10(v) : Number.NaN), back: (v) => 10 ** v };
  if (scale === 'symlog') {
    // Linear within a millionth of the largest value.
    const c = Math.max(Math.abs(lo), Math.abs(hi), 1e-300) * 1e-6;
    return {
      forth: (v) => Math.sign(v) * Math.log1p(Math.abs(v) / c),
      back: (v) => Math.sign(v) * c * Math.expm1(Math.abs(v)),
    };
  }
  return { forth: (v) => v, back: (v) => v };
}
