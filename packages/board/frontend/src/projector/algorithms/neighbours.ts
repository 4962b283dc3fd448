/** Nearest neighbours by comparing every pair. */

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
  const requested = Math.min(count, order.length);
  // Sorting all 100,000 distances on each click is slow, so the limit is found first.
  let limit = Infinity;
  if (requested > 0 && requested < order.length / 4) {
    const sorted = Float64Array.from(order, (i) => distances[i]!).sort();
    limit = sorted[requested - 1]!;
  }
  return order
    .filter((i) => distances[i]! <= limit)
    .sort((a, b) => distances[a]! - distances[b]! || a - b)
    .slice(0, requested)
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
 * `progress` is called with the share done; it may throw to end the search.
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
  const offer = (i: number, j: number, product: number) => {
    const value = Math.max(0, norms[i]! + norms[j]! - 2 * product);
    if (value < square[i * k + k - 1]!) insert(index, square, i * k, k, j, value);
    if (value < square[j * k + k - 1]!) insert(index, square, j * k, k, i, value);
  };
  const out = new Float64Array(8);
  for (let i = 0; i < rows && k > 0; i += 2) {
    if (i % 64 === 0) progress(pairsDone(i, rows));
    let j = i + 2;
    for (; j + 4 <= rows; j += 4) {
      eightProducts(points, dims, i * dims, j * dims, out);
      for (let at = 0; at < 4; at++) {
        offer(i, j + at, out[at]!);
        offer(i + 1, j + at, out[4 + at]!);
      }
    }
    if (i + 1 < rows) offer(i, i + 1, product(points, dims, i, i + 1));
    for (; j < rows; j++) {
      offer(i, j, product(points, dims, i, j));
      offer(i + 1, j, product(points, dims, i + 1, j));
    }
  }
  progress(1);
  return { count: k, index, square };
}

/** The share of all pairs whose first row is before row i. */
function pairsDone(i: number, rows: number): number {
  const left = 1 - i / rows;
  return 1 - left * left;
}

function product(points: Float32Array, dims: number, i: number, j: number): number {
  let sum = 0;
  for (let d = 0; d < dims; d++) sum += points[i * dims + d]! * points[j * dims + d]!;
  return sum;
}

/** Dot products of two rows with four in one pass, so that each value is loaded once for several products. */
function eightProducts(points: Float32Array, dims: number, i: number, j: number, out: Float64Array): void {
  const second = i + dims;
  const [j1, j2, j3] = [j + dims, j + 2 * dims, j + 3 * dims];
  let a0 = 0;
  let a1 = 0;
  let a2 = 0;
  let a3 = 0;
  let b0 = 0;
  let b1 = 0;
  let b2 = 0;
  let b3 = 0;
  for (let d = 0; d < dims; d++) {
    const a = points[i + d]!;
    const b = points[second + d]!;
    const p0 = points[j + d]!;
    const p1 = points[j1 + d]!;
    const p2 = points[j2 + d]!;
    const p3 = points[j3 + d]!;
    a0 += a * p0;
    a1 += a * p1;
    a2 += a * p2;
    a3 += a * p3;
    b0 += b * p0;
    b1 += b * p1;
    b2 += b * p2;
    b3 += b * p3;
  }
  out[0] = a0;
  out[1] = a1;
  out[2] = a2;
  out[3] = a3;
  out[4] = b0;
  out[5] = b1;
  out[6] = b2;
  out[7] = b3;
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
