import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summed } from '../model/cost_sums.ts';
import {
  ADDED,
  CHANGED,
  joinedKind,
  kindsOf,
  REMOVED_BELOW,
  SAME,
  SEVERAL,
} from '../model/difference_kinds.ts';
import { sampleGraph } from '../model/sample_graph.ts';
import { Paint } from './paint.ts';

const model = sampleGraph(
  [0, 1, 2, 3].flatMap((i) => [`layer_${i}/mul: ${i === 2 ? 'MatMul' : 'Mul'}`, `layer_${i}/relu: Relu`]),
  { series: [{ parent: '', pattern: 'layer_[0-3]', members: ['layer_0', 'layer_1', 'layer_2', 'layer_3'] }] },
);
const stack = model.total;

test('what changed in one member of a series shows on the series', () => {
  const kind = new Uint8Array(model.total);
  kind[model.find('layer_2/mul')] = CHANGED;
  kind[model.find('layer_2')] = CHANGED;
  const paint = new Paint(model, 'light', 'diff', null, { kind });
  assert.equal(paint.style(stack).fill, paint.style(model.find('layer_2')).fill);
  assert.notEqual(paint.style(stack).fill, paint.style(model.find('layer_0')).fill);
  // Shown beside the series, it is not part of it any more.
  const pulled = new Set([model.find('layer_2')]);
  const left = new Paint(model, 'light', 'diff', null, { kind }, pulled);
  assert.equal(left.style(stack).fill, left.style(model.find('layer_0')).fill);
});

test('kinds of difference join: alike stays, one new among old is a change, others are several', () => {
  assert.equal(joinedKind([SAME, SAME]), SAME);
  assert.equal(joinedKind([ADDED, ADDED]), ADDED);
  assert.equal(joinedKind([SAME, ADDED]), CHANGED);
  assert.equal(joinedKind([SAME, REMOVED_BELOW]), REMOVED_BELOW);
  assert.equal(joinedKind([ADDED, CHANGED, SAME]), SEVERAL);
});

test('a group that only lost nodes is drawn differently from one with several changes', () => {
  const kinds = new Uint8Array(model.total);
  kinds[model.find('layer_1')] = CHANGED;
  kinds[model.find('layer_2')] = CHANGED;
  const sums = () => new Array<number>(model.total - model.ops).fill(0);
  const below = { added: sums(), removed: sums(), changed: sums(), moved: sums() };
  below.removed[model.find('layer_1') - model.ops] = 2;
  below.removed[model.find('layer_2') - model.ops] = 1;
  below.added[model.find('layer_2') - model.ops] = 1;
  const kind = kindsOf(model, kinds, below);
  assert.equal(kind[model.find('layer_1')], REMOVED_BELOW);
  assert.equal(kind[model.find('layer_2')], SEVERAL);
});

test('shares of ops and sums of costs are of all members of a series', () => {
  const ops = new Paint(model, 'light', 'op');
  assert.deepEqual(
    ops.style(stack).bar!.map(([, share]) => share),
    [0.5, 0.375, 0.125],
  );
  const value = new Float64Array(model.ops).fill(-1);
  value[model.find('layer_3/relu')] = 5;
  value[model.find('layer_1/mul')] = 3;
  const time = new Paint(model, 'light', 'time', summed(model, value));
  assert.equal(time.cost(stack), 8);
  assert.ok(Number.isNaN(time.cost(model.find('layer_0'))));
});

test('a series of structures that are not alike has its corner cut', () => {
  assert.equal(new Paint(model, 'light', 'structure').style(stack).notch, false);
  model.header.series[0]!.varied = true;
  assert.equal(new Paint(model, 'light', 'structure').style(stack).notch, true);
  model.header.series[0]!.varied = false;
});
