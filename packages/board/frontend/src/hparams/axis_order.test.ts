import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inOrder, moved } from './axis_order.ts';

test('columns follow the order, and new ones come last', () => {
  const columns = ['a', 'b', 'c', 'd'].map((id) => ({ id }));
  assert.deepEqual(
    inOrder(columns, ['c', 'gone', 'a']).map((one) => one.id),
    ['c', 'a', 'b', 'd'],
  );
});

test('a column that is moved pushes the others aside', () => {
  assert.deepEqual(moved(['a', 'b', 'c'], 'a', 2), ['b', 'c', 'a']);
  assert.deepEqual(moved(['a', 'b', 'c'], 'c', 0), ['c', 'a', 'b']);
  assert.deepEqual(moved(['a', 'b', 'c'], 'b', 9), ['a', 'c', 'b']);
});
