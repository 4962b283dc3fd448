/** The affinities P of t-SNE. */
import type { NeighbourTable } from './neighbours.ts';

/** A symmetric sparse matrix by rows; its values sum to 1. */
export interface Affinities {
  start: Int32Array;
  index: Int32Array;
  value: Float64Array;
}

const ROUNDS = 64;

/** Gaussian affinities whose width follows from the perplexity, made symmetric. */
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
  // The position of i among the neighbours of j; with -1, row j gets another entry.
  const back = new Int32Array(rows * k);
  const size = new Int32Array(rows).fill(k);
  for (let i = 0; i < rows; i++) {
    for (let at = i * k; at < (i + 1) * k; at++) {
      const j = index[at]!;
      let found = -1;
      for (let other = j * k; other < (j + 1) * k; other++) {
        if (index[other] === i) {
          found = other;
          break;
        }
      }
      back[at] = found;
      if (found < 0) size[j]!++;
    }
  }
  const start = new Int32Array(rows + 1);
  for (let i = 0; i < rows; i++) start[i + 1] = start[i]! + size[i]!;
  const out: Affinities = {
    start,
    index: new Int32Array(start[rows]!),
    value: new Float64Array(start[rows]!),
  };
  const free = start.slice(0, rows);
  const scale = 1 / (2 * Math.max(1, rows));
  const put = (row: number, column: number, value: number) => {
    const at = free[row]!++;
    out.index[at] = column;
    out.value[at] = value;
  };
  for (let i = 0; i < rows; i++) {
    for (let at = i * k; at < (i + 1) * k; at++) {
      const j = index[at]!;
      const share = (given[at]! + (back[at]! < 0 ? 0 : given[back[at]!]!)) * scale;
      put(i, j, share);
      if (back[at]! < 0) put(j, i, share);
    }
  }
  return out;
}
