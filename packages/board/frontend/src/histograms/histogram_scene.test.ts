import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestStep } from '../state/nearest_step.ts';
import {
  columnOf,
  compose,
  hit,
  type Layer,
  level,
  type Mode,
  stepAt,
  type View,
} from './histogram_scene.ts';
import type { HistogramTable } from './histogram_table.ts';

function table(steps: number[], edges: number[], counts: number[][]): HistogramTable {
  return {
    rows: steps.length,
    bins: edges.length - 1,
    total: steps.length,
    steps: Float64Array.from(steps),
    walls: Float64Array.from(steps, (s) => 1000 + 2 * s),
    edges: Float64Array.from(edges),
    counts: Float64Array.from(counts.flat()),
    percentiles: new Float64Array(steps.length * 9),
    sums: Float64Array.from(counts, (row) => row.reduce((a, b) => a + b, 0)),
  };
}

const layer = (run: number, t: HistogramTable): Layer => ({ run, name: `r${run}`, colour: '#f00', table: t });
const view = (mode: Mode, apart = false): View => ({ mode, axis: 'step', logCounts: false, apart });
const two = table(
  [0, 10],
  [0, 1, 2],
  [
    [4, 0],
    [1, 3],
  ],
);

test('runs share bins, and their sums stay', () => {
  const other = table([5], [-2, 0, 2], [[2, 6]]);
  const scene = compose([layer(1, two), layer(2, other)], view('offset'), 400, 200);
  const [a, b] = scene.facets[0]!.layers;
  assert.deepEqual([...a!.table.edges], [-2, 0, 2]);
  assert.deepEqual([...a!.table.counts], [0, 4, 0, 4]);
  assert.deepEqual([...b!.table.counts], [2, 6]);
  assert.deepEqual([scene.lo, scene.hi, scene.from, scene.to, scene.peak], [-2, 2, 0, 10, 6]);
});

test('one run keeps the bins that it has', () => {
  const scene = compose([layer(1, table([0], [0, 1, 10], [[1, 2]]))], view('heat'), 400, 200);
  assert.deepEqual([...scene.facets[0]!.layers[0]!.table.edges], [0, 1, 10]);
});

test('the bucket under the pointer is the one that is drawn there', () => {
  const scene = compose([layer(1, two)], view('heat'), 400, 200);
  const { box } = scene.facets[0]!;
  for (const row of [0, 1]) {
    for (const bin of [0, 1]) {
      const x = stepAt(scene, box, two.steps[row]!) + (row ? -1 : 1);
      const y = box.y + box.h * (1 - (bin + 0.5) / 2);
      assert.deepEqual(hit(scene, x, y), { facet: 0, layer: 0, row, bin });
    }
  }
  assert.equal(hit(scene, 2, 100), null);
});

test('in the ridge a row is hit at its base line, in an overlay at its curve', () => {
  const ridge = compose([layer(1, two)], view('offset'), 400, 200);
  const box = ridge.facets[0]!.box;
  const at = hit(ridge, box.x + 1, stepAt(ridge, box, 10));
  assert.deepEqual(at, { facet: 0, layer: 0, row: 1, bin: 0 });
  const overlay = compose([layer(1, two)], view('overlay'), 400, 200);
  assert.equal(hit(overlay, box.x + 1, box.y)?.row, 0);
  assert.equal(hit(overlay, box.x + box.w - 1, box.y + box.h * 0.25)?.row, 1);
});

test('bins of unequal width are hit by their borders', () => {
  const scene = compose([layer(1, table([0], [0, 1, 10], [[1, 2]]))], view('offset'), 400, 200);
  const box = scene.facets[0]!.box;
  const under = (share: number) => hit(scene, box.x + box.w * share, box.y + box.h)?.bin;
  assert.deepEqual([under(0.05), under(0.15), under(0.9)], [0, 1, 1]);
});

test('runs stand apart with one scale', () => {
  const scene = compose([layer(1, two), layer(2, two)], view('distribution', true), 400, 200);
  assert.equal(scene.facets.length, 2);
  assert.equal(hit(scene, 399 - 12, 100)?.facet, 1);
});

test('columns of a heat-map touch and fill the box', () => {
  const uneven = table([0, 1, 10], [0, 1], [[1], [1], [1]]);
  const scene = compose([layer(1, uneven)], view('heat'), 400, 200);
  const { box } = scene.facets[0]!;
  const columns = [0, 1, 2].map((row) => columnOf(scene, box, uneven, row));
  assert.equal(columns[0]![1], columns[1]![0]);
  assert.equal(columns[1]![1], columns[2]![0]);
  assert.equal(columns[0]![0], box.x);
  assert.equal(columns[2]![1], box.x + box.w);
});

test('log counts keep zero at zero and the peak at one', () => {
  const scene = compose([layer(1, two)], { ...view('offset'), logCounts: true }, 400, 200);
  assert.deepEqual([level(scene, 0), level(scene, 4)], [0, 1]);
  assert.ok(level(scene, 1) > 0.25);
});

test('nothing to draw is a scene without layers', () => {
  const scene = compose([], view('heat'), 400, 200);
  assert.equal(hit(scene, 200, 100), null);
});

test('the nearest row to a step, the later one of two alike near', () => {
  assert.deepEqual(
    [-5, 4, 5, 99].map((s) => nearestStep([0, 10], s)),
    [0, 0, 1, 1],
  );
  assert.equal(nearestStep([], 3), -1);
});
