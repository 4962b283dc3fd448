import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignSlots } from './colour_slots.ts';

const names = Array.from({ length: 100 }, (_, i) => `run_${i}`);

test('slots depend on the names and not on their order', () => {
  assert.deepEqual([...assignSlots(names)].sort(), [...assignSlots([...names].reverse())].sort());
});

test('twenty runs have twenty solid colours; eighty look different from one another', () => {
  const twenty = [...assignSlots(names.slice(0, 20)).values()];
  assert.equal(new Set(twenty.map((s) => s.colour)).size, 20);
  assert.ok(twenty.every((s) => s.dash === 0));
  const eighty = [...assignSlots(names.slice(0, 80)).values()];
  assert.equal(new Set(eighty.map((s) => `${s.colour}/${s.dash}`)).size, 80);
});
