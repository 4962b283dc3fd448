import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutAtHits, holds } from './text_search.ts';

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

test('a search is without case', () => {
  assert.ok(holds('Learning Rate', 'rate') && holds('x', '') && !holds('x', 'y'));
});
