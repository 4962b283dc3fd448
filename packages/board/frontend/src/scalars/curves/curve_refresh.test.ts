import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedCurve } from './curve_loader.ts';
import { renewal, replaced } from './curve_refresh.ts';

const counts = (...n: number[]) => new Map(n.map((count, run) => [run, count]));

test('only what has changed is asked for', () => {
  const known = { asked: 'a', counts: counts(5, 5, 5) };
  assert.equal(renewal(null, 'a', counts(5)), 'all');
  assert.equal(renewal(known, 'b', counts(5, 5, 5)), 'all');
  assert.equal(renewal(known, 'a', counts(5, 5, 5)), 'nothing');
  assert.deepEqual(renewal(known, 'a', counts(5, 6, 5)), new Set([1]));
  assert.equal(renewal(known, 'a', counts(6, 6, 6)), 'all');
});

test('curves keep their places, and new ones come last', () => {
  const curve = (run: number, n: number) => ({ run, n }) as LoadedCurve;
  assert.deepEqual(replaced([curve(1, 1), curve(2, 1)], [curve(3, 2), curve(1, 2)]), [
    curve(1, 2),
    curve(2, 1),
    curve(3, 2),
  ]);
});
