import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choose, chooser, everyRun, only, runChoiceCodec } from './run_choice.ts';

const names = Array.from({ length: 100 }, (_, i) => `sweep/run_${String(i).padStart(3, '0')}`);

test('choices survive the address, whatever the names', () => {
  for (const except of [[], ['a'], ['~a', '~~b'], ['a,b', 'a,b,c', 'a\\'], ['', 'x'], names]) {
    for (const base of ['all', 'none'] as const) {
      const choice = { base, except };
      assert.deepEqual(runChoiceCodec.decode(runChoiceCodec.encode(choice)), choice);
    }
  }
});

test('half of a hundred runs fit well into an address', () => {
  const half = only(names.filter((_, i) => i % 2 === 0));
  assert.ok(runChoiceCodec.encode(half).length < 300);
});

test('a new run is shown unless single runs were selected', () => {
  const without = choose(everyRun, [names[3]!], false, names);
  assert.equal(chooser(without)(names[3]!), false);
  assert.equal(chooser(without)('new'), true);
  assert.equal(chooser(only(['a']))('new'), false);
  assert.deepEqual(choose(without, [names[3]!], true, names), everyRun);
  const none = choose(everyRun, names, false, names);
  const few = choose(none, [names[5]!], true, names);
  assert.deepEqual(names.filter(chooser(few)), [names[5]]);
});
