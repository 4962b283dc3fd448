import assert from 'node:assert/strict';
import { test } from 'node:test';
import { naturally } from './natural_order.ts';

const collator = new Intl.Collator('en', { numeric: true });
const asked = (a: string, b: string) => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);

/** Names of few characters, so that many are alike for a while. */
function names(alphabet: string[], count: number): string[] {
  let seed = 7;
  const next = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: next(7) }, () => alphabet[next(alphabet.length)]!).join(''),
  );
}

test('names are in the order of the collator of numbers', () => {
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
  const alphabets = [
    [...'aAb019'],
    [...'aB/_-. 12'],
    [...'a1é\u0301\u0308٣中'],
    [...'aZ0\t\u0000\u200d'],
    printable,
    ['layer', 'Layer', '/', '00', '1', '10', '2', '_'],
  ];
  for (const alphabet of alphabets) {
    const some = names(alphabet, 300);
    for (const a of some) {
      for (const b of some) {
        const [ours, theirs] = [naturally(a, b), asked(a, b)];
        assert.equal(Math.sign(ours), Math.sign(theirs), JSON.stringify([a, b]));
      }
    }
  }
});
