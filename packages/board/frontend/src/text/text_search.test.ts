import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutAtHits, describeHits } from './text_search.ts';

test('hits are cut out, whatever characters are searched for', () => {
  assert.deepEqual(cutAtHits('a.b A.B', 'a.b'), [
    { text: 'a.b', hit: true },
    { text: ' ', hit: false },
    { text: 'A.B', hit: true },
  ]);
  assert.deepEqual(cutAtHits('axb', 'a.b'), [{ text: 'axb', hit: false }]);
  assert.deepEqual(cutAtHits('', ''), []);
  assert.equal(cutAtHits('(a+)+$', '(a+)+$')[0]!.hit, true);
});

test('a search that did not get to the end does not say that there is nothing', () => {
  const found = { total: 0, rows: [], searched: 1200, complete: false };
  assert.match(describeHits([found]), /^Not found in any step of the 1,200 searched;/);
  assert.equal(describeHits([{ ...found, complete: true }]), 'Not found in any step.');
});

test('a search reports how many of its hits are listed', () => {
  const run = { total: 250, rows: Array(100).fill(0), searched: 300, complete: true };
  assert.equal(describeHits([run]), 'Found in 250 steps. The first 100 are listed.');
  assert.equal(describeHits([{ ...run, total: 1, rows: [0] }]), 'Found in 1 step.');
});
