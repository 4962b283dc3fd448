import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyLevels, levels, subtract } from './adjust.ts';

test('neutral levels leave every level', () => {
  const table = levels({ brightness: 1, contrast: 1 });
  for (let level = 0; level < 256; level++) assert.equal(table[level], level);
});

test('contrast pulls from the middle, brightness multiplies, both clip', () => {
  const table = levels({ brightness: 1.5, contrast: 2 });
  assert.equal(table[0], 0);
  assert.equal(table[127], 190); // (127 - 127.5) * 2 + 127.5 = 126.5, times 1.5 = 189.75
  assert.equal(table[255], 255);
  assert.equal(levels({ brightness: 0.5, contrast: 1 })[200], 100);
  assert.equal(levels({ brightness: 2, contrast: 0 })[3], 255);
});

test('alpha is not a colour', () => {
  const pixels = Uint8ClampedArray.of(10, 20, 30, 40);
  applyLevels(pixels, levels({ brightness: 2, contrast: 1 }));
  assert.deepEqual([...pixels], [20, 40, 60, 40]);
});

test('a difference is measured', () => {
  const a = Uint8ClampedArray.of(10, 20, 30, 255, 0, 0, 0, 255);
  const b = Uint8ClampedArray.of(10, 26, 27, 255, 0, 0, 0, 0);
  assert.deepEqual(subtract(a, b, 10), { mean: 1.5, most: 6, pixels: 1 });
  assert.deepEqual([...a], [0, 60, 30, 255, 0, 0, 0, 255]);
});
