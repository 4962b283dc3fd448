import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run, Tag } from '../../api/types.ts';
import { groupsOf } from '../../runs/run_groups.ts';
import { MOST_TAGS, parseCustomChart, tagsOfPattern, variablesOf } from './chart_formula.ts';

const tag = (name: string, id: number): Tag => ({
  id,
  name,
  kind: 'scalar',
  plugin: '',
  display: '',
  description: '',
});
const tags = ['loss', 'acc', 'train/loss', 'eval/loss', 'batch-size'].map(tag);
const formula = (text: string) => {
  const { text: out, tags: used, missing } = variablesOf(text, tags);
  return [out, used.map((t) => t.name).join(' '), missing.join(' ')];
};

test('names of an expression are whole tags first, then last parts, and a/b may be a quotient', () => {
  assert.deepEqual(formula('loss/acc'), ['v0/v1', 'loss acc', '']);
  assert.deepEqual(formula('train/loss - eval/loss'), ['v0 - v1', 'train/loss eval/loss', '']);
  assert.deepEqual(formula('log(loss) * 2e-3'), ['log(v0) * 2e-3', 'loss', '']);
  assert.deepEqual(formula('{batch-size} * loss'), ['v0 * v1', 'batch-size loss', '']);
  assert.deepEqual(formula('loss + loss'), ['v0 + v0', 'loss', '']);
  assert.deepEqual(formula('nothing + loss'), ['nothing + v0', 'loss', 'nothing']);
});

test('names in an expression may be those that the expression has for its own', () => {
  const odd = ['v0', 'loss', 'e', 'a}b', '2e-3'].map(tag);
  const of = (text: string) => {
    const { text: out, tags: used, missing } = variablesOf(text, odd);
    return [out, used.map((t) => t.name).join(' '), missing.join(' ')];
  };
  assert.deepEqual(of('loss + v0'), ['v0 + v1', 'loss v0', '']);
  assert.deepEqual(of('1e3 * e - {2e-3}'), ['1e3 * v0 - v1', 'e 2e-3', '']);
  assert.deepEqual(of('pi * loss'), ['pi * v0', 'loss', 'pi']);
});

test('a pattern takes the tags that it matches, at most as many as a chart can hold, and counts all', () => {
  assert.deepEqual(
    tagsOfPattern('loss$', tags).tags.map((t) => t.name),
    ['loss', 'train/loss', 'eval/loss'],
  );
  const none = tagsOfPattern('(', tags);
  assert.deepEqual([none.tags, none.count], [[], 0]);
  assert.match(none.error ?? '', /missing/);
  const many = tagsOfPattern(
    'w',
    Array.from({ length: 50 }, (_, i) => tag(`w${i}`, i)),
  );
  assert.deepEqual([many.tags.length, many.count], [MOST_TAGS, 50]);
  assert.deepEqual(parseCustomChart('= a / b'), { text: 'a / b', kind: 'expression' });
});

test('runs are grouped by a pattern, a folder or a hyperparameter', () => {
  const run = (name: string, id: number) => ({ id, name }) as Run;
  const runs = ['lr1/train', 'lr1/eval', 'lr2/train', 'other'].map(run);
  const titles = (by: string) =>
    groupsOf(runs, by, (r, name) => (name === 'lr' && r.id < 2 ? 0.1 : undefined))?.map(
      (g) => `${g.title}: ${g.runs.map((r) => r.id).join('')}`,
    );
  assert.deepEqual(titles('re:(train|eval)'), ['(others): 3', 'eval: 1', 'train: 02']);
  assert.deepEqual(titles('folder'), ['(top): 3', 'lr1: 01', 'lr2: 2']);
  assert.deepEqual(titles('hp:lr'), ['lr: 0.1: 01', 'lr: none: 23']);
  assert.equal(titles('re:('), undefined);
  assert.equal(titles(''), undefined);
});
