import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choicesCodec, chosenStep, nearestIndex, unionOfSteps } from './card_choice.ts';

test('choices survive the address, whatever the names contain', () => {
  const choices = {
    'a,b;s9': { step: -3, sample: 2 },
    plain: { otherRun: 'r;s1,\\é', otherStep: 7 },
    last: { otherRun: '' },
  };
  const decoded = choicesCodec.decode(choicesCodec.encode(choices))!;
  assert.deepEqual({ ...decoded }, choices);
  assert.equal(choicesCodec.encode({ x: {} }), '');
});

test('nonsense in the address is not a choice', () => {
  assert.equal(choicesCodec.decode('odd'), undefined);
  assert.deepEqual({ ...choicesCodec.decode('a,sx;;q1') }, { a: {} });
  assert.equal(Object.getPrototypeOf(choicesCodec.decode('__proto__,s1')), null);
});

test('runs are joined by their steps', () => {
  assert.deepEqual(
    unionOfSteps([
      [0, 10, 10],
      [5, 0],
    ]),
    [0, 5, 10],
  );
});

test('a card shows its own step, else what is nearest to the cursor, else the last', () => {
  const steps = [0, 10, 20];
  assert.equal(chosenStep(steps, undefined, null), 20);
  assert.equal(chosenStep(steps, undefined, 4), 0);
  assert.equal(chosenStep(steps, undefined, 5), 10);
  assert.equal(chosenStep(steps, 11, 0), 10);
  assert.equal(chosenStep([], 1, 2), null);
  assert.deepEqual(
    [-9, 14.9, 15, 99].map((s) => nearestIndex(steps, s)),
    [0, 1, 2, 2],
  );
});
