import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../api/types.ts';
import { byGravity, byteSize, notFinite, wordsOf } from './problem_words.ts';

const problem = (id: number, severity: Problem['severity'], bytes = 0): Problem => ({
  id,
  severity,
  kind: 'nan',
  run: null,
  file: null,
  offset: null,
  bytes,
  count: 1,
  text: '',
  wall: 0,
});

test('the first bad step is read from the text, whatever the tag is called', () => {
  const read = (kind: string, text: string) => notFinite({ kind, text });
  assert.deepEqual(read('nan', 'loss is NaN first at step -3'), { tag: 'loss', kind: 'nan', step: -3 });
  const tag = 'x is NaN first at step 9';
  assert.equal(read('infinite', `${tag} is infinite first at step 10`)?.tag, tag);
  assert.equal(read('torn', 'loss is NaN first at step 3'), null);
  assert.equal(read('nan', 'something else'), null);
});

test('errors come before warnings, large losses before small ones', () => {
  const list = [problem(1, 'note'), problem(2, 'error'), problem(3, 'warning'), problem(4, 'error', 9)];
  assert.deepEqual(
    list.sort(byGravity).map((p) => p.id),
    [4, 2, 3, 1],
  );
});

test('kinds that nobody named are still readable', () => {
  assert.equal(wordsOf('graph_unknown_input').title, 'Graph unknown input');
  assert.equal(wordsOf('constructor').title, 'Constructor');
});

test('sizes are short', () => {
  assert.deepEqual([0, 999, 1500, 999_600, 3.2e9].map(byteSize), [
    '0 B',
    '999 B',
    '1.5 KB',
    '1.0 MB',
    '3.2 GB',
  ]);
});
