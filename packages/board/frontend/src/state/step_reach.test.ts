import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepReachOf } from './step_reach.ts';

const series = (n: number, firstStep: number, lastStep: number) => ({ n, firstStep, lastStep });

test('one tag with a huge step does not ruin the range of all others', () => {
  const usual = [series(100, 0, 99), series(50, 10, 200)];
  for (const step of [2 ** 62, -(2 ** 62), 1e12]) {
    const reach = stepReachOf([...usual, series(1, step, step)]);
    assert.deepEqual([reach?.lo, reach?.hi, reach?.beyond], [0, 200, 1]);
  }
  const grown = stepReachOf([...usual, series(4, 0, 2 ** 62)]);
  assert.deepEqual([grown?.hi, grown?.longest], [200, usual[1]]);
});

test('epochs and steps of one training are both within', () => {
  const reach = stepReachOf([series(10, 0, 9), series(1000, 0, 900_000)]);
  assert.deepEqual([reach?.lo, reach?.hi, reach?.beyond], [0, 900_000, 0]);
  assert.equal(stepReachOf([series(1000, 0, 9), series(3, 0, 900_000)])?.hi, 900_000);
});

test('a board with nothing but huge steps still has a range', () => {
  assert.deepEqual(stepReachOf([series(1, 2 ** 62, 2 ** 62)])?.hi, 2 ** 62);
  assert.equal(stepReachOf([]), null);
  assert.equal(stepReachOf([series(0, 0, 0)]), null);
});

test('two hundred thousand series have a range', () => {
  const many = Array.from({ length: 200_000 }, (_, i) => series(1, i, i));
  assert.equal(stepReachOf(many)?.hi, 199_999);
});
