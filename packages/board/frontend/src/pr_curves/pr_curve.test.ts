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

/** The table that a writer logs for scores in tenths, with eleven thresholds: positive is what reaches one. */
function tableOf(labels: number[], tenths: number[]): PrTable {
  const rows: number[][] = [[], [], [], [], [], []];
  for (let threshold = 0; threshold <= 10; threshold++) {
    const sum = (label: number, reached: boolean) =>
      labels.filter((one, i) => one === label && tenths[i]! >= threshold === reached).length;
    const [tp, fp, tn, fn] = [sum(1, true), sum(0, true), sum(0, false), sum(1, false)];
    [tp, fp, tn, fn, tp / Math.max(1, tp + fp), tp / Math.max(1, tp + fn)].forEach((value, row) => {
      rows[row]!.push(value);
    });
  }
  return { step: 0, wall: 0, thresholds: 11, data: Float64Array.from(rows.flat()) };
}

// sklearn.metrics.average_precision_score(labels, tenths / 10) of scikit-learn 1.9.1
const SCIKIT_LEARN: [labels: number[], tenths: number[], average: number][] = [
  [[0, 0, 0, 1, 1], [1, 2, 3, 8, 9], 1],
  [[1, 1, 0, 1, 0, 0], [2, 1, 5, 7, 3, 6], 0.6333333333333333],
  [[1, 0, 0, 0, 1, 1, 0, 1, 0], [1, 2, 9, 9, 7, 2, 2, 0, 0], 0.3849206349206349],
  [[1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1], [0, 5, 6, 2, 2, 4, 1, 5, 4, 9, 9, 0], 0.39047619047619053],
  [
    [1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1],
    [9, 0, 7, 0, 2, 9, 3, 1, 3, 7, 5, 8, 5, 8, 4, 7, 1, 9, 5, 4],
    0.8111076423576423,
  ],
];

test('average precision is that of scikit-learn where thresholds share a recall', () => {
  for (const [labels, tenths, average] of SCIKIT_LEARN) {
    const found = averagePrecision(pointsOf(tableOf(labels, tenths)));
    assert.ok(Math.abs(found - average) < 1e-12, `${found} in place of ${average}`);
  }
});
