import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceKeys } from './step_keys.ts';

test('a trace is named by its step, and by its tag and a number where two share that', () => {
  const keys = traceKeys([
    { id: 4, step: 1, tag: 'train' },
    { id: 5, step: 2, tag: 'train' },
    { id: 6, step: 2, tag: 'eval' },
    { id: 7, step: 2, tag: 'eval' },
  ]);
  assert.deepEqual(
    [...keys],
    [
      [4, '1'],
      [5, '2 train'],
      [6, '2 eval'],
      [7, '2 eval 2'],
    ],
  );
});
