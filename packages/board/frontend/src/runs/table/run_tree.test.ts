import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../../api/types.ts';
import { rowsOf, sortRuns, triState } from './run_tree.ts';

const run = (name: string, id = 0): Run => ({
  id,
  name,
  folder: '',
  start: 0,
  last_wall: 0,
  live: false,
  segments: 1,
  problems: 0,
});

test('folders hold their runs, and folders of one folder merge', () => {
  const rows = rowsOf(
    ['a/b/x', 'a/b/y', 'c/z', 'top'].map((n) => run(n)),
    new Set(['c']),
  );
  assert.deepEqual(
    rows.map((r) => [r.kind, r.title, r.depth]),
    [
      ['folder', 'a/b', 0],
      ['run', 'x', 1],
      ['run', 'y', 1],
      ['folder', 'c', 0],
      ['run', 'top', 0],
    ],
  );
});

test('a box is on, off, or both', () => {
  assert.equal(
    triState(['a', 'b'], (n) => n === 'a'),
    'some',
  );
  assert.equal(
    triState(['a'], () => true),
    'on',
  );
  assert.equal(
    triState(['a'], () => false),
    'off',
  );
});

test('runs without a value are last in both directions', () => {
  const values: Record<string, number | undefined> = { a: 2, b: undefined, c: 10, d: Number.NaN };
  const runs = Object.keys(values).map((n) => run(n));
  const names = (down: boolean) =>
    sortRuns(runs, (r) => values[r.name], down)
      .map((r) => r.name)
      .join('');
  assert.equal(names(false), 'acbd');
  assert.equal(names(true), 'cabd');
});

test('a run that is a folder of others is listed in it, and the folder’s box switches all of them', () => {
  const rows = rowsOf(
    ['a', 'a/b', 'a/b/c', 'd'].map((n) => run(n)),
    new Set(),
  );
  assert.deepEqual(
    rows.map((r) => [r.kind, r.title, r.depth, r.kind === 'folder' ? r.names.join() : r.run.name]),
    [
      ['folder', 'a', 0, 'a,a/b,a/b/c'],
      ['folder', 'b', 1, 'a/b,a/b/c'],
      ['run', 'b', 2, 'a/b'],
      ['run', 'c', 2, 'a/b/c'],
      ['run', 'a', 1, 'a'],
      ['run', 'd', 0, 'd'],
    ],
  );
});
