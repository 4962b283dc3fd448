import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzy, parseQuery, type Subject } from './run_query.ts';

const fields: Record<string, Record<string, number | string>> = {
  a: { acc: 0.95, lr: 0.001, optimizer: 'adam', 'train/loss': 0.1 },
  b: { acc: 0.85, lr: 0.1, optimizer: 'sgd', 'train/loss': 2 },
  c: { lr: 0.005 },
};
const subjects: Subject[] = Object.entries(fields).map(([name, values]) => ({
  name,
  field: (field, of) => (field === 'name' ? name : of === 'max' && field === 'acc' ? 0.99 : values[field]),
  labels: () => (name === 'a' ? ['Best of all', 'v2'] : name === 'c' ? ['v1'] : []),
}));
const matching = (query: string) =>
  subjects
    .filter(parseQuery(query).matches)
    .map((s) => s.name)
    .join('');

test('conditions join by and, or, not and parentheses', () => {
  assert.equal(matching('acc > 0.9 and lr < 0.01'), 'a');
  assert.equal(matching('acc > 0.9 or lr >= 0.005'), 'abc');
  assert.equal(matching('not acc > 0.9'), 'bc');
  assert.equal(matching('lr < 0.01 and (acc > 0.9 or name = c)'), 'ac');
  assert.equal(matching('optimizer = "adam"'), 'a');
  assert.equal(matching('optimizer ~ ^s'), 'b');
  assert.equal(matching('max(acc) >= .99 "train/loss" <= 1e-1'), 'a');
  assert.equal(matching('missing != 3'), '');
  assert.deepEqual(parseQuery('acc > 0.9 and "train/loss" < 1').fields, ['acc', 'train/loss']);
});

test('an invalid condition is reported and hides nothing', () => {
  for (const broken of ['acc >', '> 3', '(acc > 1', 'acc > 1)', 'name ~ "("']) {
    const query = parseQuery(broken);
    assert.ok(query.error, broken);
    assert.ok(subjects.every(query.matches));
  }
});

test('plain text is letters in order, and what looks like a pattern is one', () => {
  assert.ok(fuzzy('tower_0/conv_layer', 'tconv'));
  assert.ok(!fuzzy('run_12', '21'));
  assert.ok(fuzzy('sweep3/run003', 'run3') && !fuzzy('sweep0/run003', 'sweep3'));
  const named = (name: string) => ({ name, field: () => undefined, labels: () => [] });
  assert.ok(parseQuery('run_(1|3)$').matches(named('x/run_3')));
  assert.ok(!parseQuery('run_(1|3)$').matches(named('x/run_2')));
  assert.match(parseQuery('run_(').error ?? '', /not a supported regular/);
});

test('a query matches users\u2019 tags by tag:', () => {
  assert.equal(matching('tag:best'), 'a');
  assert.equal(matching('tag:best of'), 'a');
  assert.equal(matching('tag:v'), 'ac');
  assert.equal(matching('not tag:v acc > 0'), 'b');
  assert.equal(matching('(tag:v1 or tag:v2) and lr > 0.001'), 'c');
});

test('a pattern with exponential backtracking elsewhere does not block the page', () => {
  const many = Array.from({ length: 100 }, (_, i): Subject => {
    const name = `${i}${'a'.repeat(2000)}!`;
    return { name, field: () => name, labels: () => [] };
  });
  for (const text of ['(a+)+$', 'name ~ "(a|aa)+$"', 'lr = 3 or name ~ "(a*)*b"']) {
    const query = parseQuery(text);
    assert.equal(query.error, null);
    assert.deepEqual(many.filter(query.matches), []);
  }
});
