import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeChanges, same } from './three_way_merge.ts';

test('changes of different keys are both kept, at any depth', () => {
  const base = { run: { text: 'a', tags: ['x'] }, old: 1 };
  const mine = { run: { text: 'b', tags: ['x'] }, old: 1, mine: 2 };
  const theirs = { run: { text: 'a', tags: ['x', 'y'] }, theirs: 3 };
  assert.deepEqual(mergeChanges(base, mine, theirs), {
    run: { text: 'b', tags: ['x', 'y'] },
    mine: 2,
    theirs: 3,
  });
});

test('of two changes of the same value mine wins', () => {
  assert.deepEqual(mergeChanges({ a: 1 }, { a: 2 }, { a: 3 }), { a: 2 });
  assert.deepEqual(mergeChanges({ a: 1 }, {}, { a: 3 }), {});
  assert.deepEqual(mergeChanges({ a: 1 }, { a: 2 }, {}), { a: 2 });
});

test('items of lists are added and removed one by one', () => {
  assert.deepEqual(mergeChanges(['a', 'b'], ['b', 'mine'], ['a', 'b', 'theirs']), ['b', 'theirs', 'mine']);
  assert.deepEqual(mergeChanges([], ['x'], ['x']), ['x']);
});

test('a list of objects is changed as a whole', () => {
  const mine = [{ title: 'mine' }];
  assert.equal(mergeChanges([{ title: 'a' }], mine, [{ title: 'theirs' }]), mine);
});

test('a run may be called __proto__', () => {
  const mine = JSON.parse('{"__proto__": {"text": "mine"}}');
  const joined = mergeChanges({}, mine, { other: 1 }) as object;
  assert.deepEqual(Object.keys(joined).sort(), ['__proto__', 'other']);
  assert.equal(Object.getPrototypeOf(joined), Object.prototype);
});

test('the order of keys does not make a document another', () => {
  assert.ok(same({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }));
  assert.ok(!same({ a: undefined }, { b: undefined }));
  assert.ok(!same([1, 2], [2, 1]));
  assert.ok(!same({}, []));
});
