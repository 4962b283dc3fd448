import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../api/types.ts';
import { lossesByRun } from './losses.ts';
import { byGravity, notFinite, wordsOf } from './problem_kinds.ts';

const problem = (id: number, severity: Problem['severity'], bytes = 0): Problem => ({
  id,
  severity,
  kind: 'nan',
  run: null,
  file: null,
  offset: null,
  bytes,
  count: 1,
  text: '',
  wall: 0,
  tag: null,
  step: null,
});

test('what is not finite has a tag and a first step', () => {
  assert.deepEqual(notFinite({ kind: 'nan', tag: 7, step: -3 }), { tag: 7, kind: 'nan', step: -3 });
  assert.equal(notFinite({ kind: 'torn', tag: 7, step: 3 }), null);
  assert.equal(notFinite({ kind: 'infinite', tag: null, step: null }), null);
});

test('what was lost is summed by run, and only what was lost', () => {
  const of = (run: number | null, severity: Problem['severity'], bytes: number, count: number): Problem => ({
    ...problem(bytes, severity, bytes),
    run,
    count,
  });
  const list = [
    of(1, 'error', 5, 1),
    of(2, 'error', 90, 2),
    of(1, 'error', 6, 3),
    of(3, 'warning', 99, 1),
    of(null, 'error', 9, 1),
  ];
  assert.deepEqual(lossesByRun(list), [
    { run: 2, bytes: 90, places: 2 },
    { run: 1, bytes: 11, places: 4 },
  ]);
});

test('errors precede warnings, and large losses small ones', () => {
  const list = [problem(1, 'note'), problem(2, 'error'), problem(3, 'warning'), problem(4, 'error', 9)];
  assert.deepEqual(
    list.sort(byGravity).map((p) => p.id),
    [4, 2, 3, 1],
  );
});

test('unknown kinds are still readable', () => {
  assert.equal(wordsOf('graph_unknown_input').title, 'Graph unknown input');
  assert.equal(wordsOf('constructor').title, 'Constructor');
});
