/** Nearest neighbours by looking at every pair. */

export type Metric = 'cosine' | 'euclidean';

export interface Near {
  index: number;
  distance: number;
}

/** The `count` points nearest to one, nearest first, without itself; equal distances by index. */
export function nearestTo(
  points: Float32Array,
  rows: number,
  dims: number,
  index: number,
  count: number,
  metric: Metric,
): Near[] {
  const distances = distancesTo(points, rows, dims, index, metric);
  const order = Array.from({ length: rows }, (_, i) => i).filter((i) => i !== index);
  const wanted = Math.min(count, order.length);
  // A full sort of 100,000 is slow on every click: first the limit, then the few below it.
  let limit = Infinity;
  if (wanted > 0 && wanted < order.length / 4) {
    const sorted = Float64Array.from(order, (i) => distances[i]!).sort();
    limit = sorted[wanted - 1]!;
  }
  return order
    .filter((i) => distances[i]! <= limit)
    .sort((a, b) => distances[a]! - distances[b]! || a - b)
    .slice(0, wanted)
    .map((i) => ({ index: i, distance: distances[i]! }));
}

function distancesTo(points: Float32Array, rows: number, dims: number, index: number, metric: Metric) {
  const out = new Float64Array(rows);
  const own = points.subarray(index * dims, (index + 1) * dims);
  let ownSquare = 0;
  for (let k = 0; k < dims; k++) ownSquare += own[k]! * own[k]!;
  for (let i = 0; i < rows; i++) {
    const at = i * dims;
    if (metric === 'euclidean') {
      let sum = 0;
      for (let k = 0; k < dims; k++) sum += (points[at + k]! - own[k]!) ** 2;
      out[i] = Math.sqrt(sum);
    } else {
      let product = 0;
      let square = 0;
      for (let k = 0; k < dims; k++) {
        const value = points[at + k]!;
        product += value * own[k]!;
        square += value * value;
      }
      const lengths = Math.sqrt(square * ownSquare);
      out[i] = lengths > 0 ? Math.max(0, 1 - product / lengths) : 1;
    }
  }
  return out;
}

export interface NeighbourTable {
  count: number;
  /** [rows * count], each row nearest first. */
  index: Int32Array;
  /** Squares of Euclidean distances. */
  square: Float32Array;
}

/**
 * The `count` nearest neighbours of every point, by squared Euclidean distance.
 * `progress` hears of the share done and may throw to end the search.
 */
export function allNeighbours(
  points: Float32Array,
  rows: number,
  dims: number,
  count: number,
  progress: (share: number) => void = () => {},
): NeighbourTable {
  const k = Math.max(0, Math.min(count, rows - 1));
  const index = new Int32Array(rows * k);
  const square = new Float32Array(rows * k).fill(Infinity);
  const norms = new Float64Array(rows);
  for (let i = 0; i < rows; i++) {
    let sum = 0;
    for (let d = 0; d < dims; d++) sum += points[i * dims + d]! ** 2;
    norms[i] = sum;
  }
  const own = new Float64Array(dims);
  for (let i = 0; i < rows && k > 0; i++) {
    if (i % 64 === 0) progress(i / rows);
    const at = i * dims;
    for (let d = 0; d < dims; d++) own[d] = points[at + d]!;
    for (let j = i + 1; j < rows; j++) {
      const other = j * dims;
      let product = 0;
      for (let d = 0; d < dims; d++) product += own[d]! * points[other + d]!;
      const value = Math.max(0, norms[i]! + norms[j]! - 2 * product);
      if (value < square[i * k + k - 1]!) insert(index, square, i * k, k, j, value);
      if (value < square[j * k + k - 1]!) insert(index, square, j * k, k, i, value);
    }
  }
  progress(1);
  return { count: k, index, square };
}

function insert(
  index: Int32Array,
  square: Float32Array,
  from: number,
  k: number,
  what: number,
  value: number,
) {
  let at = from + k - 1;
  while (at > from && square[at - 1]! > value) {
    square[at] = square[at - 1]!;
    index[at] = index[at - 1]!;
    at--;
  }
  square[at] = value;
  index[at] = what;
}
