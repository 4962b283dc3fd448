import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexItems } from '../data/trace_items.ts';
import { type ExtendedRange, extendedToNextItem, rangeOf } from './extended_range.ts';

const ends = [
  [0, 10],
  [20, 30],
  [40, 50],
  [60, 70],
];
const zeros = ends.map(() => 0);
const items = indexItems(
  {
    lane: zeros,
    start: ends.map(([start]) => start!),
    dur: ends.map(([start, end]) => end! - start!),
    name: zeros,
    op: zeros,
    kind: zeros,
    busy: zeros,
    count: zeros,
    slice: zeros,
    wait: zeros,
    critical: zeros,
  },
  ['a'],
  1,
  0,
  100,
);

test('a range extends slice by slice and shrinks the same way, past the first range', () => {
  let range: ExtendedRange = { from: { t0: 20, t1: 30 }, end: 30 };
  const ranges: [number, number][] = [];
  const go = (by: 1 | -1) => {
    range = extendedToNextItem(range, items, 0, by) ?? range;
    const { t0, t1 } = rangeOf(range);
    ranges.push([t0, t1]);
  };
  for (const by of [1, 1, 1, -1, -1, -1, -1, 1, 1] as const) go(by);
  assert.deepEqual(ranges, [
    [20, 50],
    [20, 70],
    [20, 70],
    [20, 50],
    [20, 30],
    [0, 30],
    [0, 30],
    [20, 30],
    [20, 50],
  ]);
});
