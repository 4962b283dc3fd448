import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shortDuration, shortNumber, ticks } from './axis_ticks.ts';

test('ticks are round and within', () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(-0.25, 0.31, 5), [-0.2, 0, 0.2]);
  assert.deepEqual(ticks(0, 0.4, 4), [0, 0.1, 0.2, 0.3, 0.4]);
  assert.equal(ticks(1e-12, 3e-12, 2).length, 3);
  assert.deepEqual(ticks(5, 5, 4), [5]);
  assert.deepEqual(ticks(Number.NaN, 5, 4), []);
});

test('numbers are short and still right', () => {
  const said = [0, 0.1, -1.25, 1234, 12_000, 1.5e6, 2.5e-7, 1e300, -Infinity, Number.NaN].map(shortNumber);
  assert.deepEqual(said, ['0', '0.1', '−1.25', '1234', '12k', '1.5M', '2.5e−7', '1e+300', '−∞', 'NaN']);
});

test('durations are said in two parts', () => {
  const said = [0.25, 3.25, 61, 3600, 90_000].map(shortDuration);
  assert.deepEqual(said, ['250 ms', '3.25 s', '1 min 1 s', '1 h', '1 d 1 h']);
});
