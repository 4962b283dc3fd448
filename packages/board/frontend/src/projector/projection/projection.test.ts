import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colouringOf, type LabelColumn, rgbOf, scaleColour } from '../../picture/label_colours.ts';
import { rowsCodec } from '../address/row_ranges.ts';
import { withText } from '../data/label_search.ts';
import { directionBetween, pickedPoints, placedColumns, placedRows, spread } from './placement.ts';

const column = (values: string[], numeric = false): LabelColumn => ({
  name: 'c',
  values,
  numeric,
  distinct: new Set(values).size,
});

test('chosen rows survive the address, and are short there', () => {
  for (const rows of [[], [0], [3], [1, 2, 3, 9, 40, 41], [999_999], [5, 0, 5, 1]]) {
    const text = rowsCodec.encode(rows);
    assert.deepEqual(
      rowsCodec.decode(text),
      [...new Set(rows)].sort((a, b) => a - b),
      text,
    );
  }
  assert.equal(rowsCodec.encode([16, 17, 18, 19]), 'g-3');
  const many = Array.from({ length: 5000 }, (_, i) => i * 2);
  assert.equal(rowsCodec.encode(many), '');
  for (const wrong of ['-', 'a--b', 'x y', '1,,2', 'zzzzz-zzzzz']) {
    assert.equal(rowsCodec.decode(wrong), undefined, wrong);
  }
});

test('names are groups, the rarest of many share one, and many numbers are a scale', () => {
  const few = colouringOf(column(['b', 'a', 'b', '']));
  assert.ok(few.kind === 'groups');
  assert.deepEqual(
    few.groups.map((g) => [g.value, g.count]),
    [
      ['', 1],
      ['a', 1],
      ['b', 2],
    ],
  );
  assert.deepEqual([...few.slotOf], [2, 1, 2, 0]);
  const many = colouringOf(column(Array.from({ length: 60 }, (_, i) => `n${Math.min(i, 40)}`)));
  assert.ok(many.kind === 'groups' && many.groups.length === 20);
  assert.deepEqual(many.groups.at(-1), { value: '22 others', count: 22, slot: -1 });
  const digits = colouringOf(column(['0', '1', '2', '1'], true));
  assert.equal(digits.kind, 'groups');
  const scale = colouringOf(column([...Array.from({ length: 20 }, (_, i) => String(i - 5)), ''], true));
  assert.ok(scale.kind === 'scale');
  assert.deepEqual([scale.least, scale.most, scale.share[0], scale.share[19]], [-5, 14, 0, 1]);
  assert.ok(Number.isNaN(scale.share[20]));
});

test('colours are read and mixed', () => {
  assert.deepEqual(rgbOf('#0a1B2c'), [10, 27, 44]);
  assert.deepEqual(rgbOf('#fff'), [255, 255, 255]);
  assert.notDeepEqual(scaleColour(0, true), scaleColour(0, false));
  assert.deepEqual(scaleColour(Number.NaN, false), scaleColour(0, false));
  assert.deepEqual(scaleColour(2, true), [253, 231, 37]);
});

test('points are placed about the middle, within the ball but for a few', () => {
  const x = Float32Array.from({ length: 1000 }, (_, i) => 100 + i);
  x[7] = 1e6;
  const placed = placedColumns([x, x]);
  let sum = 0;
  let outside = 0;
  for (let i = 0; i < 1000; i++) {
    sum += placed[i * 3]!;
    if (Math.hypot(placed[i * 3]!, placed[i * 3 + 1]!) > 1.0001) outside++;
    assert.equal(placed[i * 3 + 2], 0);
  }
  assert.ok(Math.abs(sum) < 0.1 * 1000 && outside <= 5);
  assert.deepEqual([...placedRows(Float32Array.of(1, 1, 3, 1), 2)], [-1, 0, 0, 1, 0, 0]);
  assert.deepEqual([...placedRows(Float32Array.of(5, 5, 5), 3)], [0, 0, 0]);
  assert.equal(placedColumns([]).length, 0);
});

test('the direction between two groups is that of their means', () => {
  const points = Float32Array.of(0, 0, 0, 2, 6, 1, 10, 1);
  assert.deepEqual([...directionBetween(points, 2, [0, 1], [2, 3])!], [1, 0]);
  assert.equal(directionBetween(points, 2, [0], [0]), null);
  assert.equal(directionBetween(points, 2, [], [1]), null);
});

test('a sample is spread over all and holds the first and the last', () => {
  assert.deepEqual([...spread(3, 10)], [0, 1, 2]);
  assert.deepEqual([...spread(9, 3)], [0, 4, 8]);
  assert.deepEqual(
    [...pickedPoints(Float32Array.of(1, 2, 3, 4, 5, 6), 2, Int32Array.of(0, 2))],
    [1, 2, 5, 6],
  );
});

test('search finds parts of a text, whatever the case', () => {
  const values = ['Stone', 'milestone', 'river', 'a.b', 'a+b'];
  assert.deepEqual(withText(values, 'STONE'), [0, 1]);
  assert.deepEqual(withText(values, 'a.b'), [3]);
  assert.deepEqual(withText(values, ''), []);
});
