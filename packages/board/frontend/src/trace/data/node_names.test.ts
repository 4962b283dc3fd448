import assert from 'node:assert/strict';
import { test } from 'node:test';
import { belongs, nameSpans } from './node_names.ts';

test('a series stands for its members, any other name for itself', () => {
  assert.deepEqual(nameSpans('a/MatMul'), ['a/MatMul']);
  assert.deepEqual(nameSpans('tower/layer_[0-2,5]'), [
    'tower/layer_0',
    'tower/layer_1',
    'tower/layer_2',
    'tower/layer_5',
  ]);
  assert.deepEqual(nameSpans('block_[7]/conv'), ['block_7/conv']);
  assert.deepEqual(nameSpans('odd[x]'), ['odd[x]']);
});

test('nodes below a scope belong to it, names with the same beginning do not', () => {
  assert.ok(belongs('a/b', 'a'));
  assert.ok(belongs('a', 'a'));
  assert.ok(!belongs('ab', 'a'));
  assert.ok(belongs('l_1/x', 'l_[0-3]'));
  assert.ok(!belongs('l_10/x', 'l_[0-3]'));
});
