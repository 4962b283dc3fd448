import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RangeRow, rangeValues, sortRows } from './range_values.ts';

test('values of a range are those of its finite points, without what a restart wrote again', () => {
  const x = Float64Array.of(0, 1, 2, 3, 4, 5);
  const y = Float64Array.of(9, 5, Number.NaN, -2, 100, 7);
  const flags = Uint8Array.of(0, 0, 1, 0, 16, 0);
  const of = (lo: number | null, hi: number | null) => rangeValues({ x, y, flags }, lo, hi);
  assert.deepEqual(of(1, 4), { from: 1, to: 3, start: 5, end: -2, change: -7, min: -2, max: 5 });
  assert.deepEqual(of(null, null), { from: 0, to: 5, start: 9, end: 7, change: -2, min: -2, max: 9 });
  assert.deepEqual(of(5, null)?.change, 0);
  assert.equal(of(2, 2), null);
  assert.equal(of(6, null), null);
});

test('rows are sorted by any column, runs as people count', () => {
  const row = (run: string, max: number) => ({ run, tag: '', max }) as RangeRow;
  const rows = [row('r10', 1), row('r2', 3), row('r1', 2)];
  const names = (by: 'run' | 'max', down: boolean) => sortRows(rows, by, down).map((one) => one.run);
  assert.deepEqual(names('run', false), ['r1', 'r2', 'r10']);
  assert.deepEqual(names('max', true), ['r2', 'r1', 'r10']);
});
