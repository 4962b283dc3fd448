import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestColumns, fitScale, nextZoom } from './tile_grid.ts';

test('tiles are as large as they can be', () => {
  assert.equal(bestColumns(1, 400, 200), 1);
  assert.equal(bestColumns(2, 400, 200), 2);
  assert.equal(bestColumns(4, 400, 400), 2);
  assert.equal(bestColumns(3, 100, 400), 1);
});

test('small images are enlarged by whole numbers, large ones shrink to fit', () => {
  assert.equal(fitScale(28, 28, 200, 100), 3);
  assert.equal(fitScale(400, 100, 200, 100), 0.5);
  assert.equal(fitScale(0, 0, 200, 100), 1);
});

test('zoom moves in and out by steps', () => {
  assert.deepEqual(
    [nextZoom(1, true), nextZoom(1, false), nextZoom(3.5, true), nextZoom(99, true)],
    [2, 0.5, 4, 32],
  );
});
