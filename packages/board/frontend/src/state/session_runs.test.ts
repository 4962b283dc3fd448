import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNamesBelow, withRunsBelow } from './session_runs.ts';

test('runs below a session have what it has, of the nearest session above', () => {
  const runs = ['trial/1', 'trial/1/train', 'trial/1/deep/eval', 'trial/10', 'trial', 'trial/1/deep'].map(
    (name, id) => ({ id, name }),
  );
  const known = new Map([
    [0, 'one'],
    [5, 'deep'],
  ]);
  assert.deepEqual(
    [...withRunsBelow(runs, known)].sort((a, b) => a[0] - b[0]),
    [
      [0, 'one'],
      [1, 'one'],
      [2, 'deep'],
      [5, 'deep'],
    ],
  );
});

test('names below a chosen one are chosen with it', () => {
  const every = ['a/1', 'a/1/train', 'a/10', 'b'];
  assert.deepEqual(withNamesBelow(['a/1'], every), ['a/1', 'a/1/train']);
});
