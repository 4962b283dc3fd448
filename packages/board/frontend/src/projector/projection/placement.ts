/** Scales coordinates into the unit ball. */

const REACH = 0.995;

/** [n, 3] from up to three columns; centred, and scaled so that all but a few outliers are within 1. */
export function placedColumns(columns: ArrayLike<number>[]): Float32Array<ArrayBuffer> {
  const n = columns[0]?.length ?? 0;
  const out = new Float32Array(n * 3);
  columns.slice(0, 3).forEach((column, d) => {
    for (let i = 0; i < n; i++) out[i * 3 + d] = column[i]!;
  });
  return fitted(out);
}

/** The same from rows [n, dims] of a layout. */
export function placedRows(rows: Float32Array, dims: number): Float32Array<ArrayBuffer> {
  const n = rows.length / dims;
  const out = new Float32Array(n * 3);
  for (let i = 0; i < n; i++) {
    for (let d = 0; d < dims; d++) out[i * 3 + d] = rows[i * dims + d]!;
  }
  return fitted(out);
}

function fitted(points: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const n = points.length / 3;
  if (n === 0) return points;
  const middle = [0, 0, 0];
  for (let i = 0; i < points.length; i++) middle[i % 3]! += points[i]! / n;
  const reach = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    reach[i] = Math.hypot(
      points[i * 3]! - middle[0]!,
      points[i * 3 + 1]! - middle[1]!,
      points[i * 3 + 2]! - middle[2]!,
    );
  }
  reach.sort();
  const radius = reach[Math.floor((n - 1) * REACH)]! || reach[n - 1]! || 1;
  for (let i = 0; i < points.length; i++) points[i] = (points[i]! - middle[i % 3]!) / radius;
  return points;
}

/** The unit direction from the mean of some points to that of others; null if they do not differ. */
export function directionBetween(
  points: Float32Array,
  dims: number,
  from: number[],
  to: number[],
): Float64Array | null {
  if (from.length === 0 || to.length === 0) return null;
  const direction = new Float64Array(dims);
  for (const i of to) for (let k = 0; k < dims; k++) direction[k]! += points[i * dims + k]! / to.length;
  for (const i of from) for (let k = 0; k < dims; k++) direction[k]! -= points[i * dims + k]! / from.length;
  const length = Math.hypot(...direction);
  if (!(length > 1e-12)) return null;
  return direction.map((value) => value / length);
}

/** Evenly spread indices, all of them if there are no more than `most`. */
export function spread(n: number, most: number): Int32Array {
  if (n <= most) return Int32Array.from({ length: n }, (_, i) => i);
  return Int32Array.from({ length: most }, (_, i) => Math.round((i * (n - 1)) / Math.max(1, most - 1)));
}

export function pickedPoints(
  points: Float32Array,
  dims: number,
  index: Int32Array,
): Float32Array<ArrayBuffer> {
  const out = new Float32Array(index.length * dims);
  index.forEach((from, to) => {
    out.set(points.subarray(from * dims, (from + 1) * dims), to * dims);
  });
  return out;
}
