import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitText } from './fit_text.ts';

const width = (text: string) => 6.3 * text.length;

test('what fits exactly is not cut, whatever was cut before', () => {
  assert.equal(fitText('block_10', 50, width), 'block_…');
  assert.equal(fitText('block_10', 8 * 6.3, width), 'block_10');
  assert.equal(fitText('block_10', 8 * 6.3 - 1, width), 'block_…');
});
