import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roundStep, roundTicks, rulerTicks, ticksOf } from './ticks.ts';

const labels = (...args: Parameters<typeof ticksOf>) => ticksOf(...args).labels;

test('linear ticks are round numbers with no more digits than they need', () => {
  assert.deepEqual(labels(0, 1, 5, 'linear', 'number'), ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']);
  assert.deepEqual(labels(0, 1_000_000, 4, 'linear', 'step'), ['0', '0.25M', '0.50M', '0.75M', '1.00M']);
  assert.deepEqual(labels(0, 9990, 5, 'linear', 'step'), ['0', '2000', '4000', '6000', '8000']);
  assert.deepEqual(labels(-0.3, 0.3, 3, 'linear', 'number'), ['−0.2', '0.0', '0.2']);
  assert.deepEqual(labels(0, 2e-5, 2, 'linear', 'number'), ['0', '1e−5', '2e−5']);
});

test('steps have no ticks between whole numbers', () => {
  for (const hi of [1, 2, 3, 7]) {
    assert.ok(ticksOf(0, hi, 6, 'linear', 'step').at.every(Number.isInteger), String(hi));
  }
});

test('log ticks are powers of ten, symlog ticks are both signs of them', () => {
  assert.deepEqual(labels(1, 1e6, 7, 'log', 'step'), ['1', '10', '100', '1000', '10k', '100k', '1M']);
  assert.deepEqual(labels(1e-6, 1, 4, 'log', 'number'), ['1e−6', '1e−4', '0.01', '1']);
  const symmetric = ticksOf(-100, 100, 7, 'symlog', 'number').at;
  assert.deepEqual(symmetric, [-100, -1, -0.01, 0, 0.01, 1, 100]);
});

test('durations and clocks divide by minutes, hours and days', () => {
  assert.deepEqual(labels(0, 3600, 4, 'linear', 'duration'), ['0', '15 min', '30 min', '45 min', '1 h']);
  assert.deepEqual(labels(0, 100, 4, 'linear', 'duration'), ['0', '30 s', '1 min', '1 min 30 s']);
  const noon = new Date(2026, 4, 3, 12, 0, 0).getTime() / 1000;
  assert.deepEqual(labels(noon, noon + 3600, 2, 'linear', 'time'), ['05-03 12:00', '12:30', '13:00']);
});

test('ticks lie within the axis, ascend, and are not too many, whatever the range', () => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  for (let i = 0; i < 3000; i++) {
    const lo = (random() - 0.5) * 10 ** (random() * 12 - 6);
    const hi = lo + 10 ** (random() * 12 - 6);
    for (const [scale, unit] of [
      ['linear', 'number'],
      ['symlog', 'number'],
      ['linear', 'duration'],
    ] as const) {
      const { at } = ticksOf(lo, hi, 6, scale, unit);
      const slack = (hi - lo) * 1e-6;
      assert.ok(at.length <= 9, `${lo} ${hi} ${scale} ${at.length}`);
      assert.ok(
        at.every((v, k) => v >= lo - slack && v <= hi + slack && (k === 0 || v > at[k - 1]!)),
        `${lo} ${hi} ${at}`,
      );
    }
  }
  assert.deepEqual(ticksOf(Number.NaN, Number.NaN, 5, 'linear', 'number').at, []);
  assert.deepEqual(ticksOf(3, 3, 5, 'linear', 'number').at, [3]);
  assert.deepEqual(ticksOf(1e300, 1e300 * (1 + 2 ** -52), 5, 'linear', 'number').at, [1e300]);
  assert.deepEqual(ticksOf(0, 5e-324, 5, 'linear', 'number').at, [0]);
});

test('round ticks lie within their span', () => {
  assert.deepEqual(roundTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(roundTicks(-0.25, 0.31, 5), [-0.2, 0, 0.2]);
  assert.deepEqual(roundTicks(0, 0.4, 4), [0, 0.1, 0.2, 0.3, 0.4]);
  assert.equal(roundTicks(1e-12, 3e-12, 2).length, 3);
  assert.deepEqual(roundTicks(5, 5, 4), [5]);
  assert.deepEqual(roundTicks(Number.NaN, 5, 4), []);
});

test('steps are 1, 2 or 5 times a power of ten', () => {
  assert.deepEqual(
    [0.2, 1, 1.1, 3, 6, 10, 49, 51, 1e6 + 1].map(roundStep),
    [0.2, 1, 2, 5, 10, 10, 50, 100, 2e6],
  );
});

test('ruler ticks are round, in the window, far enough apart, and all labelled differently', () => {
  for (const [t0, t1] of [
    [0, 10],
    [-500, 12_345],
    [0, 1.7e6],
    [203_541_000, 203_545_000],
    [1e9, 1e9 + 200],
    [0, 7.2e10],
  ] as [number, number][]) {
    for (const width of [200, 1000, 3000]) {
      const ticks = rulerTicks(t0, t1, width);
      const step = ticks.length > 1 ? ticks[1]!.time - ticks[0]!.time : 0;
      for (const { time } of ticks) assert.ok(time >= t0 - 1e-6 && time <= t1 + 1e-6);
      if (step) assert.ok((step / (t1 - t0)) * width >= 89.99);
      assert.ok(ticks.length <= width / 90 + 1);
      assert.equal(new Set(ticks.map((t) => t.label)).size, ticks.length, JSON.stringify(ticks));
    }
  }
});
