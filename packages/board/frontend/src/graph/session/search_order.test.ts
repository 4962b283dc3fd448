import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestMatches } from './search_order.ts';

const NAMES = [
  'gradients/layer_2/MatMul_grad',
  'gradients/layer_2/MatMul_grad/MatMul',
  'tower/layer_2/MatMul',
  'layer_2/MatMul',
  'layer_2',
  'wide_layer_2',
  '',
];

function found(pattern: string, most = 10): string[] {
  return bestMatches(NAMES, pattern, 4, most).found.map((v) => NAMES[v]!);
}

test('the exact name comes before the names that end with it, and these before longer ones', () => {
  assert.deepEqual(found('layer_2/MatMul'), [
    'layer_2/MatMul',
    'tower/layer_2/MatMul',
    'gradients/layer_2/MatMul_grad',
    'gradients/layer_2/MatMul_grad/MatMul',
  ]);
  assert.deepEqual(found('LAYER_2').slice(0, 2), ['layer_2', 'wide_layer_2']);
  assert.equal(found('MatMul')[0], 'layer_2/MatMul');
});

test('a name that ends with the pattern comes before a shorter one that only contains it', () => {
  const names = ['conv1x', 'conv', 'first_block/my_conv', 'a_conv_b'];
  const { found: order } = bestMatches(names, 'conv', 0, 10);
  assert.deepEqual(
    order.map((v) => names[v]),
    ['conv', 'first_block/my_conv', 'conv1x', 'a_conv_b'],
  );
});

test('alternatives of a pattern are exact one by one', () => {
  assert.deepEqual(found('layer_2|MatMul', 3), ['layer_2', 'layer_2/MatMul', 'tower/layer_2/MatMul']);
});

test('all matches are counted, also those that are cut', () => {
  assert.equal(bestMatches(NAMES, 'layer', 0, 2).count, 6);
  assert.equal(bestMatches(NAMES, 'layer', 0, 2).found.length, 2);
});
