import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SvgPen } from '../scene/svg_pen.ts';
import { type ChartView, type Curve, mapping, NAN, RESTART, SUPERSEDED } from './chart_model.ts';
import { arrange, drawCurve, drawDots, marksOf } from './draw_chart.ts';
import { fitX, fitY } from './fit.ts';
import { nearestIndex } from './nearest.ts';

export function curve(xs: number[], ys: number[], flags?: number[]): Curve {
  return {
    id: 'a',
    label: 'a',
    run: 0,
    tag: 't',
    colour: '#123',
    dash: [],
    right: false,
    n: xs.length,
    drawn: xs.length,
    x: Float64Array.from(xs),
    y: Float64Array.from(ys),
    flags: flags ? Uint8Array.from(flags) : null,
    raw: null,
    lo: null,
    hi: null,
    superseded: flags?.filter((f) => f & SUPERSEDED).length ?? 0,
  };
}
const plot = { left: 0, top: 0, width: 100, height: 100 };
const view = (x: [number, number], y: [number, number], more: Partial<ChartView> = {}): ChartView => ({
  x,
  y,
  right: null,
  xScale: 'linear',
  yScale: 'linear',
  xUnit: 'step',
  xName: 'step',
  marksClipped: false,
  ...more,
});

/** The points of an SVG document's path. */
function ys(pen: SvgPen): number[] {
  return [...String(pen).matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map((m) => Number(m[2]));
}

test('a spike of one point among a hundred thousand is drawn at full height', () => {
  const values: number[] = Array.from({ length: 100_000 }, (_, i) => (i === 77_777 ? 1 : 0.5));
  values[33_333] = 0;
  const pen = new SvgPen(100, 100);
  drawCurve(
    pen,
    curve(
      values.map((_, i) => i),
      values,
    ),
    view([0, 99_999], [0, 1]),
    plot,
    1,
  );
  assert.equal(Math.min(...ys(pen)), 0);
  assert.equal(Math.max(...ys(pen)), 100);
  assert.ok(ys(pen).length < 500);
});

test('a value that is not finite breaks the line and is marked', () => {
  const broken = curve([0, 1, 2, 3, 4], [1, 1, Number.NaN, 1, 1], [0, 0, NAN, RESTART, 0]);
  const pen = new SvgPen(100, 100);
  drawCurve(pen, broken, view([0, 4], [0, 2]), plot, 1);
  assert.equal(String(pen).match(/M[\d.]+ [\d.]+L/g)?.length, 2);
  assert.deepEqual(marksOf(broken, view([0, 4], [0, 2]), plot), [
    { kind: 'nan', x: 50, y: 50 },
    { kind: 'restart', x: 75, y: 50 },
  ]);
});

test('points far apart are whole dots, at the ends of the axes too', () => {
  const pen = new SvgPen(100, 100);
  drawDots(pen, curve([0, 1, 2, 3], [0, 5, 10, 99]), view([0, 2], [0, 10]), plot, 1);
  assert.equal(String(pen).match(/a2\.2 2\.2/g)?.length, 3 * 2);
  assert.doesNotMatch(String(pen), /clip/);
});

test('points that were written again are drawn apart and not touched by the cross-hair', () => {
  const again = curve([0, 1, 1, 2], [0, 9, 1, 2], [0, SUPERSEDED, RESTART, 0]);
  const pen = new SvgPen(100, 100);
  drawCurve(pen, again, view([0, 2], [0, 10]), plot, 1);
  assert.equal(String(pen).match(/fill="none"/g)?.length, 2);
  assert.equal(nearestIndex(again, 0.9), 2);
});

test('axes fit the drawn values; outliers are left out only on request, and marked', () => {
  const values = Array.from({ length: 100 }, (_, i) => (i === 50 ? 1000 : i / 100));
  const one = curve(
    values.map((_, i) => i),
    values,
  );
  assert.deepEqual(fitX([one], false), [0, 99]);
  assert.deepEqual(fitX([one], true), [1, 99]);
  assert.ok(fitY([one], [0, 99], 'linear', false)![1] > 1000);
  const inner = fitY([one], [0, 99], 'linear', true)!;
  assert.ok(inner[1] < 1.1);
  const marks = marksOf(one, view([0, 99], inner, { marksClipped: true }), plot);
  assert.ok(marks.some((m) => m.kind === 'above' && Math.abs(m.x - 50.5) < 0.1));
  assert.deepEqual(fitY([curve([1], [5])], [0, 2], 'linear', false), [4.5, 5.5]);
  assert.equal(fitY([curve([1], [Number.NaN])], [0, 2], 'linear', false), null);
});

test('scales map there and back', () => {
  for (const scale of ['linear', 'symlog'] as const) {
    const map = mapping([-5, 100], scale);
    for (const v of [-5, -1e-3, 0, 0.5, 100]) assert.ok(Math.abs(map.from(map.to(v)) - v) < 1e-9);
  }
  assert.equal(mapping([1, 100], 'log').to(10), 0.5);
  const { plot: inner } = arrange(view([0, 1], [0, 1]), 400, 240, (t) => t.length * 6);
  assert.ok(inner.left >= 30 && inner.width > 300);
});
