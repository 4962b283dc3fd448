import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff, diffLines, type Piece } from './line_diff.ts';

const side = (pieces: Piece[], but: Piece['kind']) => pieces.filter((p) => p.kind !== but).map((p) => p.text);

test('both texts can be read out of a diff, and it is a shortest one', () => {
  let seed = 3;
  const random = (n: number) => {
    seed = (seed * 16807) % 2147483647;
    return seed % n;
  };
  for (let round = 0; round < 300; round++) {
    const a = Array.from({ length: random(12) }, () => 'abc'[random(3)]!);
    const b = Array.from({ length: random(12) }, () => 'abc'[random(3)]!);
    const pieces = diff(a, b);
    assert.deepEqual(side(pieces, 'added'), a);
    assert.deepEqual(side(pieces, 'removed'), b);
    assert.equal(pieces.filter((p) => p.kind === 'same').length, longestCommon(a, b), `${a} ${b}`);
  }
});

function longestCommon(a: string[], b: string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      table[i]![j] =
        a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
    }
  }
  return table[a.length]![b.length]!;
}

test('a changed line lists the words that changed', () => {
  const lines = diffLines('same\nlearning rate 0.1\nend', 'same\nlearning rate 0.2\nend');
  assert.deepEqual(
    lines.map((l) => l.kind),
    ['same', 'removed', 'added', 'same'],
  );
  assert.deepEqual(lines[1]!.pieces, [
    { kind: 'same', text: 'learning rate 0.' },
    { kind: 'removed', text: '1' },
  ]);
  assert.deepEqual(lines[2]!.pieces.at(-1), { kind: 'added', text: '2' });
});

test('equal texts have no changes, and huge unlike ones still end', () => {
  assert.ok(diffLines('a\nb', 'a\nb').every((l) => l.kind === 'same'));
  const many = (word: string) => Array.from({ length: 5000 }, (_, i) => `${word}${i}`);
  assert.equal(diff(many('a'), many('b')).length, 10_000);
});
