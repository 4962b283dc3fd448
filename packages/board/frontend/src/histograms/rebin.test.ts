import assert from 'node:assert/strict';
import { test } from 'node:test';
import { binOf, rebin, sharedEdges } from './rebin.ts';

/** The same by brute force: every bin in 10,000 slices, each put where its middle lies. */
function slow(edges: number[], counts: number[], newEdges: number[]): number[] {
  const slices = 10_000;
  const out = new Array(newEdges.length - 1).fill(0);
  counts.forEach((count, i) => {
    for (let s = 0; s < slices; s++) {
      const at = edges[i]! + ((edges[i + 1]! - edges[i]!) * (s + 0.5)) / slices;
      let bin = newEdges.findIndex((edge) => edge > at) - 1;
      if (bin === -2) bin = out.length - 1;
      out[Math.max(0, bin)] += count / slices;
    }
  });
  return out;
}

test('counts go to their bins, split where bins are cut', () => {
  assert.deepEqual([...rebin([0, 2, 4], [4, 8], [0, 1, 3, 4])], [2, 6, 4]);
  assert.deepEqual([...rebin([0, 1], [3], [0, 1])], [3]);
});

test('a re-bin equals the brute force and keeps the sum', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  for (let round = 0; round < 20; round++) {
    const edges = Array.from({ length: 12 }, () => random() * 10).sort((a, b) => a - b);
    const counts = Array.from({ length: 11 }, () => Math.floor(random() * 50));
    const newEdges = Array.from({ length: 9 }, (_, i) => 1 + i);
    const got = [...rebin(edges, counts, newEdges)];
    const sum = (list: number[]) => list.reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum(got) - sum(counts)) < 1e-9);
    slow(edges, counts, newEdges).forEach((value, i) => {
      assert.ok(Math.abs(value - got[i]!) < 0.2, `${round}: bin ${i}: ${got[i]} for ${value}`);
    });
  }
});

test('a bin without width, or without an end, is one point', () => {
  assert.deepEqual([...rebin([1, 1], [5], [0, 1, 2])], [0, 5]);
  assert.deepEqual([...rebin([-Infinity, 1], [5], [0, 1, 2])], [0, 5]);
  assert.deepEqual([...rebin([9, 9], [5], [0, 1, 2])], [0, 5]);
  assert.deepEqual([...rebin([-9, -9], [5], [0, 1, 2])], [5, 0]);
});

test('shared edges hold all sets, and one value alone too', () => {
  assert.deepEqual(
    [
      ...sharedEdges(
        [
          [0, 1],
          [-3, 0.5],
        ],
        4,
      ),
    ],
    [-3, -2, -1, 0, 1],
  );
  assert.deepEqual([...sharedEdges([[2, 2]], 2)], [1, 2, 3]);
  assert.deepEqual([...sharedEdges([[0, 0]], 1)], [-0.5, 0.5]);
  assert.deepEqual([...sharedEdges([], 2)], [0, 0.5, 1]);
  assert.deepEqual([...sharedEdges([[-Infinity, 0, 2, Infinity]], 2)], [0, 1, 2]);
});

test('a value is found in its bin', () => {
  assert.deepEqual(
    [-5, 0, 0.99, 1, 2, 99].map((value) => binOf([0, 1, 2], value)),
    [0, 0, 0, 1, 1, 1],
  );
});
