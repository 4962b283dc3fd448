import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areaUnderRoc, averagePrecision, bestF1, type PrTable, pointAt, pointsOf } from './pr_curve.ts';

/** Counts of scores at three thresholds: 4 positives, 4 negatives. */
const table: PrTable = {
  step: 1,
  wall: 0,
  thresholds: 3,
  data: Float64Array.from([
    ...[4, 3, 1], // tp
    ...[4, 1, 0], // fp
    ...[0, 3, 4], // tn
    ...[0, 1, 3], // fn
    ...[0.5, 0.75, 1], // precision
    ...[1, 0.75, 0.25], // recall
  ]),
};

test('a point has all values that follow from its counts', () => {
  const point = pointAt(table, 1);
  assert.equal(point.threshold, 0.5);
  assert.equal(point.f1, 0.75);
  assert.equal(point.falsePositiveRate, 0.25);
});

test('areas equal sums by hand', () => {
  const points = pointsOf(table);
  assert.equal(averagePrecision(points), 0.25 * 1 + 0.5 * 0.75 + 0.25 * 0.5);
  // (0,0) (0,.25) (.25,.75) (1,1)
  assert.equal(areaUnderRoc(points), 0.25 * 0.5 + 0.75 * 0.875);
  assert.equal(bestF1(points)?.threshold, 0.5);
});

test('a class without examples has no area', () => {
  const empty = { ...table, data: new Float64Array(18) };
  assert.ok(Number.isNaN(areaUnderRoc(pointsOf(empty))));
  assert.equal(bestF1(pointsOf(empty)), null);
});
