import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nothingInRange, placesInRange } from './step_range.ts';

test('both ends of a range belong to it', () => {
  assert.deepEqual(placesInRange([0, 10, 20, 30], { from: 10, to: 20 }), [1, 2]);
});

test('a range with one end is open on the other side', () => {
  assert.deepEqual(placesInRange([0, 10, 20], { from: null, to: 10 }), [0, 1]);
  assert.deepEqual(placesInRange([0, 10, 20], { from: 11, to: null }), [2]);
});

test('nothing is copied where no step lies outside', () => {
  assert.equal(placesInRange([0, 10], { from: null, to: null }), null);
  assert.equal(placesInRange([0, 10], { from: 0, to: 10 }), null);
});

test('a card without a step in the range shows a message, and one without steps none', () => {
  assert.equal(nothingInRange(3, 0, { from: 5, to: 9 }), 'Nothing between steps 5 and 9.');
  assert.equal(nothingInRange(3, 0, { from: 5000, to: null }), 'Nothing from step 5,000 on.');
  assert.equal(nothingInRange(3, 1, { from: 5, to: 9 }), null);
  assert.equal(nothingInRange(0, 0, { from: 5, to: 9 }), null);
});
