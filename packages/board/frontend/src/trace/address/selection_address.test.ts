import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseArea, parseSlice, textOfArea, textOfSlice } from './selection_address.ts';

test('a slice and an area come back from the address as they were', () => {
  const shown = [12, 40];
  assert.deepEqual(parseSlice(textOfSlice(shown, { trace: 40, slice: 7 })!, shown), { trace: 40, slice: 7 });
  for (const lanes of [null, [0], [3, 4]]) {
    const area = { trace: 12, t0: 100, t1: 2500, lanes };
    assert.deepEqual(parseArea(textOfArea(shown, area)!, shown), area);
  }
});

test('malformed selections and those of hidden steps are ignored', () => {
  assert.equal(textOfSlice([1], { trace: 2, slice: 0 }), null);
  for (const text of ['', '0', '5.1', '0.x', '-1.2']) assert.equal(parseSlice(text, [1]), null);
  for (const text of ['', '0.1', '0.9~3', '0.1~2.', '7.1~2']) assert.equal(parseArea(text, [1]), null);
});
