import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedCurve } from './curve_loader.ts';
import { outdatedRuns, replaced } from './outdated_runs.ts';

const counts = (...n: number[]) => new Map(n.map((count, run) => [run, count]));

test('only runs that have changed are fetched again', () => {
  const known = { queries: 'a', counts: counts(5, 5, 5) };
  assert.equal(outdatedRuns(null, 'a', counts(5)), 'all');
  assert.equal(outdatedRuns(known, 'b', counts(5, 5, 5)), 'all');
  assert.equal(outdatedRuns(known, 'a', counts(5, 5, 5)), 'nothing');
  assert.deepEqual(outdatedRuns(known, 'a', counts(5, 6, 5)), new Set([1]));
  assert.equal(outdatedRuns(known, 'a', counts(6, 6, 6)), 'all');
});

test('curves keep their places, and new ones are last', () => {
  const curve = (run: number, n: number) => ({ run, n }) as LoadedCurve;
  assert.deepEqual(replaced([curve(1, 1), curve(2, 1)], [curve(3, 2), curve(1, 2)]), [
    curve(1, 2),
    curve(2, 1),
    curve(3, 2),
  ]);
});
