import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownOrder, NODE_COLUMNS, nextOrder, sortOf } from './node_order.ts';

const column = (key: string) => NODE_COLUMNS.find((one) => one.key === key)!;

test('clicks sort names from a to z first, figures from the largest down, then as in the step', () => {
  const clicks = (key: string) => {
    const orders = [''];
    for (let i = 0; i < 3; i++) orders.push(nextOrder(orders.at(-1)!, column(key)));
    return orders.slice(1);
  };
  assert.deepEqual(clicks('name'), ['name', '-name', '']);
  assert.deepEqual(clicks('ratio'), ['-ratio', 'ratio', '']);
  assert.equal(nextOrder('-ratio', column('bytes')), '-bytes');
});

test('an address with an unknown order shows the order of the step', () => {
  assert.deepEqual(['', 'size', '--name', '-name'].map(knownOrder), ['start', 'start', 'start', '-name']);
});

test('a head says in which direction its column is sorted', () => {
  assert.deepEqual(
    ['op', '-op', 'name'].map((order) => sortOf(order, column('op'))),
    ['ascending', 'descending', 'none'],
  );
});
