import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLight, mix, parseColour } from './colour_mix.ts';

test('colours of the style sheet are read', () => {
  assert.deepEqual(parseColour('#1f5fd0'), [31, 95, 208]);
  assert.deepEqual(parseColour('#fff'), [255, 255, 255]);
  assert.deepEqual(parseColour('rgb(1, 2, 3)'), [1, 2, 3]);
  assert.deepEqual(parseColour('hsl(120 100% 25%)'), [0, 128, 0]);
  assert.equal(parseColour('url(x)'), null);
});

test('a mixed colour lies between the two', () => {
  assert.equal(mix('#000000', '#ffffff', 0.5), 'rgb(128,128,128)');
  assert.equal(mix('#000', '#fff', 9), 'rgb(255,255,255)');
  assert.equal(isLight('#ffffff') && !isLight('#14161a'), true);
});
