import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexItems } from '../data/trace_items.ts';
import { scopeAt, scopeRuns } from './scope_runs.ts';

test('scopes are the parts of a name before the last', () => {
  assert.deepEqual(
    [0, 1, 2].map((level) => scopeAt('conv1/block/Relu', level)),
    ['conv1', 'block', ''],
  );
  assert.equal(scopeAt('loss', 0), '');
  assert.equal(scopeAt('gradients/conv1/Relu_grad/ReluGrad', 1), 'conv1');
  assert.equal(scopeAt('gradients/mul_grad/Sum', 1), 'mul');
});

test('a run ends where another scope, or none, begins', () => {
  const names = ['a/x', 'a/y', 'b/x', 'z', 'a/b/q', 'c/b/q'];
  const name = [0, 1, 2, 3, 2, 4, 5];
  const zero = name.map(() => 0);
  const start = name.map((_, i) => 10 * i);
  const dur = name.map(() => 5);
  const rest = { op: zero, kind: zero, busy: zero, count: zero, slice: zero, wait: zero, critical: zero };
  const items = indexItems({ lane: zero, start, dur, name, ...rest }, names, 1, 0, 100);
  assert.deepEqual(
    scopeRuns(items, 0, 7, 0).map((run) => [run.scope, run.start, run.end]),
    [
      ['a', 0, 15],
      ['b', 20, 25],
      ['b', 40, 45],
      ['a', 50, 55],
      ['c', 60, 65],
    ],
  );
  assert.deepEqual(
    scopeRuns(items, 0, 7, 1).map((run) => run.scope),
    ['a/b', 'c/b'],
  );
});
