/** Greatest eigenvalues of a symmetric matrix, and their vectors. */
import { gaussian, seeded } from './random.ts';

export interface Eigen {
  /** In descending order. */
  values: Float64Array;
  /** One row for each value, of unit length; its greatest element is above 0. */
  vectors: Float64Array[];
}

/** All eigenvalues of a small matrix [n, n], by Jacobi rotations. */
export function jacobi(matrix: Float64Array, n: number): Eigen {
  const a = Float64Array.from(matrix);
  const v = new Float64Array(n * n);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0;
    let all = 0;
    for (let p = 0; p < n; p++) {
      for (let q = 0; q < n; q++) {
        const square = a[p * n + q]! ** 2;
        all += square;
        if (p !== q) off += square;
      }
    }
    if (off <= 1e-28 * all) break;
    for (let p = 0; p < n - 1; p++) {
      for (let q = p + 1; q < n; q++) rotate(a, v, n, p, q);
    }
  }
  const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => a[j * n + j]! - a[i * n + i]!);
  return {
    values: Float64Array.from(order, (i) => a[i * n + i]!),
    vectors: order.map((i) => upright(Float64Array.from({ length: n }, (_, k) => v[k * n + i]!))),
  };
}

function rotate(a: Float64Array, v: Float64Array, n: number, p: number, q: number): void {
  const apq = a[p * n + q]!;
  if (apq === 0) return;
  const theta = (a[q * n + q]! - a[p * n + p]!) / (2 * apq);
  const t = (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (let k = 0; k < n; k++) {
    const kp = a[k * n + p]!;
    const kq = a[k * n + q]!;
    a[k * n + p] = c * kp - s * kq;
    a[k * n + q] = s * kp + c * kq;
  }
  for (let k = 0; k < n; k++) {
    const pk = a[p * n + k]!;
    const qk = a[q * n + k]!;
    a[p * n + k] = c * pk - s * qk;
    a[q * n + k] = s * pk + c * qk;
    const kp = v[k * n + p]!;
    const kq = v[k * n + q]!;
    v[k * n + p] = c * kp - s * kq;
    v[k * n + q] = s * kp + c * kq;
  }
}

const SMALL = 40;
const EXTRA = 8;
const MOST_ROUNDS = 400;

/** The `count` greatest eigenvalues of a positive semidefinite matrix [n, n], by subspace iteration. */
export function greatestEigen(matrix: Float64Array, n: number, count: number): Eigen {
  const requested = Math.min(count, n);
  if (n <= SMALL) {
    const { values, vectors } = jacobi(matrix, n);
    return { values: values.slice(0, requested), vectors: vectors.slice(0, requested) };
  }
  const size = Math.min(n, requested + EXTRA);
  const random = seeded(7);
  let basis = Array.from({ length: size }, () => Float64Array.from({ length: n }, () => gaussian(random)));
  let values = new Float64Array(size);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    orthonormalise(basis, random);
    const images = basis.map((vector) => product(matrix, n, vector));
    const small = new Float64Array(size * size);
    for (let i = 0; i < size; i++) {
      for (let j = 0; j <= i; j++) {
        small[i * size + j] = small[j * size + i] = dot(basis[i]!, images[j]!);
      }
    }
    // Rayleigh-Ritz: the best vectors within the subspace; then one more iteration.
    const ritz = jacobi(small, size);
    let change = 0;
    for (let i = 0; i < requested; i++) change = Math.max(change, Math.abs(ritz.values[i]! - values[i]!));
    values = ritz.values as Float64Array<ArrayBuffer>;
    const settled = change <= 1e-10 * Math.max(values[0]!, 1e-300);
    basis = combine(settled ? basis : images, ritz.vectors, n);
    if (settled) break;
  }
  orthonormalise(basis, random);
  return { values: values.slice(0, requested), vectors: basis.slice(0, requested).map(upright) };
}

function combine(vectors: Float64Array[], weights: Float64Array[], n: number) {
  return weights.map((weight) => {
    const out = new Float64Array(n);
    for (let j = 0; j < vectors.length; j++) {
      const w = weight[j]!;
      const vector = vectors[j]!;
      for (let k = 0; k < n; k++) out[k]! += w * vector[k]!;
    }
    return out;
  });
}

function orthonormalise(vectors: Float64Array[], random: () => number): void {
  for (let i = 0; i < vectors.length; i++) {
    const vector = vectors[i]!;
    for (let attempt = 0; ; attempt++) {
      const before = Math.sqrt(dot(vector, vector));
      for (let twice = 0; twice < 2; twice++) {
        for (let j = 0; j < i; j++) {
          const other = vectors[j]!;
          const shared = dot(vector, other);
          for (let k = 0; k < vector.length; k++) vector[k]! -= shared * other[k]!;
        }
      }
      const length = Math.sqrt(dot(vector, vector));
      if (length > 1e-9 * before && length > 0) {
        for (let k = 0; k < vector.length; k++) vector[k]! /= length;
        break;
      }
      // The matrix has a null space, and any direction in it serves.
      if (attempt > 4) break;
      for (let k = 0; k < vector.length; k++) vector[k] = gaussian(random);
    }
  }
}

function product(matrix: Float64Array, n: number, vector: Float64Array): Float64Array {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    const at = i * n;
    for (let j = 0; j < n; j++) sum += matrix[at + j]! * vector[j]!;
    out[i] = sum;
  }
  return out;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

function upright<T extends Float64Array>(vector: T): T {
  let greatest = 0;
  for (let i = 1; i < vector.length; i++) {
    if (Math.abs(vector[i]!) > Math.abs(vector[greatest]!) * (1 + 1e-9)) greatest = i;
  }
  if (vector[greatest]! < 0) for (let i = 0; i < vector.length; i++) vector[i] = -vector[i]!;
  return vector;
}
