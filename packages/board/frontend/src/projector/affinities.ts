/** How much each point wants each of its neighbours near: the P of t-SNE. */
import type { NeighbourTable } from './neighbours.ts';

/** A symmetric sparse matrix by rows; all values together are 1. */
export interface Affinities {
  start: Int32Array;
  index: Int32Array;
  value: Float64Array;
}

const ROUNDS = 64;

/** Gaussian around each point, as wide as the perplexity says, made symmetric. */
export function affinitiesOf(near: NeighbourTable, rows: number, perplexity: number): Affinities {
  const k = near.count;
  const given = new Float64Array(rows * k);
  const target = Math.log(Math.max(1, Math.min(perplexity, k)));
  for (let i = 0; i < rows; i++) widen(near.square, given, i * k, k, target);
  return symmetric(near.index, given, rows, k);
}

/** Finds the width at which the entropy of a row is the target. */
function widen(square: Float32Array, out: Float64Array, from: number, k: number, target: number): void {
  let beta = 1;
  let low = 0;
  let high = Infinity;
  const nearest = square[from] ?? 0;
  for (let round = 0; round < ROUNDS; round++) {
    let sum = 0;
    let weighted = 0;
    for (let j = 0; j < k; j++) {
      const distance = square[from + j]! - nearest;
      const p = Math.exp(-beta * distance);
      out[from + j] = p;
      sum += p;
      weighted += p * distance;
    }
    const entropy = Math.log(sum) + (beta * weighted) / sum;
    for (let j = 0; j < k; j++) out[from + j]! /= sum;
    if (Math.abs(entropy - target) < 1e-6) return;
    if (entropy > target) {
      low = beta;
      beta = high === Infinity ? beta * 2 : (beta + high) / 2;
    } else {
      high = beta;
      beta = (beta + low) / 2;
    }
  }
}

function symmetric(index: Int32Array, given: Float64Array, rows: number, k: number): Affinities {
  const maps: Map<number, number>[] = Array.from({ length: rows }, () => new Map());
  const scale = 1 / (2 * Math.max(1, rows));
  for (let i = 0; i < rows; i++) {
    for (let at = i * k; at < (i + 1) * k; at++) {
      const j = index[at]!;
      const share = given[at]! * scale;
      maps[i]!.set(j, (maps[i]!.get(j) ?? 0) + share);
      maps[j]!.set(i, (maps[j]!.get(i) ?? 0) + share);
    }
  }
  const start = new Int32Array(rows + 1);
  for (let i = 0; i < rows; i++) start[i + 1] = start[i]! + maps[i]!.size;
  const out: Affinities = {
    start,
    index: new Int32Array(start[rows]!),
    value: new Float64Array(start[rows]!),
  };
  for (let i = 0, at = 0; i < rows; i++) {
    for (const [j, share] of maps[i]!) {
      out.index[at] = j;
      out.value[at++] = share;
    }
  }
  return out;
}
