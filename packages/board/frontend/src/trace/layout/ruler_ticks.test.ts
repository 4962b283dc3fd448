import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bytesText,
  durationText,
  exactText,
  percentText,
  roundStep,
  rulerTicks,
  timeText,
} from './ruler_ticks.ts';

test('ticks are round, in the window, far enough apart, and all labelled differently', () => {
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

test('steps are 1, 2 or 5 of a power of ten', () => {
  assert.deepEqual(
    [0.2, 1, 1.1, 3, 6, 10, 49, 51, 1e6 + 1].map(roundStep),
    [1, 1, 2, 5, 10, 10, 50, 100, 2e6],
  );
});

test('durations have three digits that count', () => {
  const texts = [0, 1, 999, 1000, 12_345, 999_600, 5_000_000, 229_934_910, 1.5e9];
  assert.deepEqual(texts.map(durationText), [
    '0 ns',
    '1 ns',
    '999 ns',
    '1.00 µs',
    '12.3 µs',
    '1.00 ms',
    '5.00 ms',
    '230 ms',
    '1.50 s',
  ]);
  assert.equal(exactText(1234567), '1 234 567 ns');
});

test('a moment has the digits that its window tells apart', () => {
  assert.equal(timeText(205_412_345, 466_000), '205.4123 ms');
  assert.equal(timeText(205_412_345, 230e6), '205.4 ms');
  assert.equal(timeText(1234, 10), '1.234 µs');
  assert.equal(timeText(0, 1e9), '0 ns');
});

test('bytes and shares are short', () => {
  assert.deepEqual([0, 1023, 1024, 3 << 20, 1.5 * 2 ** 30].map(bytesText), [
    '0 B',
    '1023 B',
    '1.0 KiB',
    '3.0 MiB',
    '1.5 GiB',
  ]);
  assert.deepEqual([0, 0.004, 0.0999, 0.5, 1].map(percentText), ['0 %', '0.4 %', '10 %', '50 %', '100 %']);
});
