import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitness } from './fuzzy_score.ts';

const best = (typed: string, ...texts: string[]) =>
  [...texts].sort((a, b) => fitness(b, typed) - fitness(a, typed))[0];

test('a text without the letters, or with them in another order, does not fit', () => {
  assert.equal(fitness('train/loss', 'x'), 0);
  assert.equal(fitness('ab', 'ba'), 0);
  assert.equal(fitness('', 'a'), 0);
});

test('everything fits nothing typed', () => {
  assert.equal(fitness('anything', ''), 1);
});

test('capitals of the text do not matter', () => {
  assert.equal(fitness('Train/Loss', 'loss'), fitness('train/loss', 'loss'));
  assert.ok(fitness('Train/Loss', 'loss') > 0);
});

test('a whole word is better than its beginning, that than a part, that than single letters', () => {
  const order = ['train/loss', 'loss_scale', 'glossy', 'l_o_s_s'];
  const fits = order.map((text) => fitness(text, 'loss'));
  assert.deepEqual(
    fits,
    [...fits].sort((a, b) => b - a),
  );
  assert.ok(fits.every((fit) => fit > 0));
});

test('of two that are alike the shorter is better', () => {
  assert.equal(best('loss', 'train/inner/loss', 'train/loss'), 'train/loss');
});

test('letters near to each other are better than letters far apart', () => {
  assert.equal(best('tl', 'train_and_validation_loss', 'train/loss'), 'train/loss');
});
