/** Principal components of points. */
import { greatestEigen } from './eigen.ts';

export interface Pca {
  /** The points along each component: coordinates[c][i]. */
  coordinates: Float32Array[];
  /** The share of the variance that each component explains, 0 to 1. */
  shares: Float64Array;
  axes: Float64Array[];
  mean: Float64Array;
  /** The number of points from which the axes were computed. */
  sampled: number;
}

const MOST_PRODUCTS = 1e9;

/** The first `count` components of points [rows, dims]; many points are sampled to compute the axes. */
export function principalComponents(points: Float32Array, rows: number, dims: number, count: number): Pca {
  const stride = Math.max(1, Math.ceil((rows * dims * dims) / MOST_PRODUCTS));
  const { covariance, mean, sampled } = covarianceOf(points, rows, dims, stride);
  let total = 0;
  for (let i = 0; i < dims; i++) total += covariance[i * dims + i]!;
  const { values, vectors } = greatestEigen(covariance, dims, count);
  const coordinates = vectors.map((axis) => alongAxis(points, rows, dims, axis, mean));
  const shares = values.map((value) => (total > 0 ? Math.max(0, value) / total : 0));
  return { coordinates, shares, axes: vectors, mean, sampled };
}

/** The points projected onto an axis through `mean`. */
export function alongAxis(
  points: Float32Array,
  rows: number,
  dims: number,
  axis: Float64Array,
  mean: Float64Array,
): Float32Array {
  let middle = 0;
  for (let k = 0; k < dims; k++) middle += mean[k]! * axis[k]!;
  const out = new Float32Array(rows);
  for (let i = 0, at = 0; i < rows; i++, at += dims) {
    let sum = -middle;
    for (let k = 0; k < dims; k++) sum += points[at + k]! * axis[k]!;
    out[i] = sum;
  }
  return out;
}

function covarianceOf(points: Float32Array, rows: number, dims: number, stride: number) {
  const mean = new Float64Array(dims);
  let sampled = 0;
  for (let i = 0; i < rows; i += stride, sampled++) {
    for (let k = 0; k < dims; k++) mean[k]! += points[i * dims + k]!;
  }
  for (let k = 0; k < dims; k++) mean[k]! /= Math.max(1, sampled);
  const covariance = new Float64Array(dims * dims);
  const row = new Float64Array(dims);
  for (let i = 0; i < rows; i += stride) {
    for (let k = 0; k < dims; k++) row[k] = points[i * dims + k]! - mean[k]!;
    for (let a = 0; a < dims; a++) {
      const value = row[a]!;
      if (value === 0) continue;
      const at = a * dims;
      for (let b = 0; b <= a; b++) covariance[at + b]! += value * row[b]!;
    }
  }
  const scale = 1 / Math.max(1, sampled - 1);
  for (let a = 0; a < dims; a++) {
    for (let b = 0; b <= a; b++) {
      const value = covariance[a * dims + b]! * scale;
      covariance[a * dims + b] = covariance[b * dims + a] = value;
    }
  }
  return { covariance, mean, sampled };
}

/** Points centred and scaled to unit length; points at the centre stay there. */
export function sphered(points: Float32Array, rows: number, dims: number): Float32Array<ArrayBuffer> {
  const mean = new Float64Array(dims);
  for (let i = 0; i < rows; i++) for (let k = 0; k < dims; k++) mean[k]! += points[i * dims + k]!;
  for (let k = 0; k < dims; k++) mean[k]! /= Math.max(1, rows);
  const out = new Float32Array(rows * dims);
  for (let i = 0; i < rows; i++) {
    let square = 0;
    for (let k = 0; k < dims; k++) square += (points[i * dims + k]! - mean[k]!) ** 2;
    const scale = square > 0 ? 1 / Math.sqrt(square) : 0;
    for (let k = 0; k < dims; k++) out[i * dims + k] = (points[i * dims + k]! - mean[k]!) * scale;
  }
  return out;
}
