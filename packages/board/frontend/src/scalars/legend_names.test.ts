import assert from 'node:assert/strict';
import { test } from 'node:test';
import { legendNames } from './legend_names.ts';

const short = (...curves: [label: string, tag: string][]) =>
  legendNames(curves.map(([label, tag]) => ({ label, tag }))).map((name) => name.short);

test('a legend names what tells its curves apart', () => {
  assert.deepEqual(short(['train', 'loss']), ['train']);
  assert.deepEqual(short(['train', 'loss'], ['eval', 'loss']), ['train', 'eval']);
  assert.deepEqual(short(['train', 'a/loss'], ['train', 'a/accuracy']), ['loss', 'accuracy']);
  assert.deepEqual(short(['t', 'loss'], ['e', 'loss'], ['t', 'rate']), ['t · loss', 'e · loss', 't · rate']);
  assert.deepEqual(short(['', '=a/b']), ['=a/b']);
});

test('folders that all names share are left out, and nothing else', () => {
  assert.deepEqual(short(['s/x/a', 'l'], ['s/x/b', 'l']), ['a', 'b']);
  assert.deepEqual(short(['s/x', 'l'], ['s/xy', 'l']), ['x', 'xy']);
  assert.deepEqual(short(['s', 'l'], ['s/x', 'l']), ['s', 's/x']);
});
