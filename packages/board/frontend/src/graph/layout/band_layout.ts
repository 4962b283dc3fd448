/** Groups with very many children: rows by rank, wrapped to a page, without dummies. */
import { edgesToReverse } from './cycles.ts';
import type { LayeredGraph, Placed } from './layered_graph.ts';
import { longestPath } from './ranks.ts';

const GAP_X = 18;
const GAP_Y = 22;
const BAND_GAP = 40;
const ASPECT = 1.6;

export function bandRanks(graph: LayeredGraph): Int32Array {
  const { n, src, dst, role } = graph;
  const kept: number[] = [];
  for (let e = 0; e < src.length; e++) {
    if (src[e] !== dst[e] && !role?.[src[e]!] && !role?.[dst[e]!]) kept.push(e);
  }
  const from = Int32Array.from(kept, (e) => src[e]!);
  const to = Int32Array.from(kept, (e) => dst[e]!);
  const turn = edgesToReverse(n, from, to, undefined);
  const rank = longestPath(
    n,
    from.map((s, i) => (turn[i] ? to[i]! : s)),
    to.map((d, i) => (turn[i] ? from[i]! : d)),
  );
  let last = 0;
  for (let v = 0; v < n; v++) last = Math.max(last, rank[v]! + 1);
  for (let v = 0; v < n; v++) rank[v] = role?.[v] === 1 ? 0 : role?.[v] === 2 ? last + 1 : rank[v]! + 1;
  return rank;
}

export function placeBands(
  graph: LayeredGraph,
  rank: Int32Array,
  width: ArrayLike<number>,
  height: ArrayLike<number>,
): Placed {
  const { n, src, dst } = graph;
  const bands: number[][] = [];
  let area = 0;
  for (let v = 0; v < n; v++) {
    bands[rank[v]!] ??= [];
    bands[rank[v]!]!.push(v);
    area += (width[v]! + GAP_X) * (height[v]! + GAP_Y);
  }
  const line = Math.max(300, Math.sqrt(area * ASPECT));
  const x = new Float64Array(n);
  const y = new Float64Array(n);
  let top = 0;
  let right = 0;
  for (const band of bands) {
    if (!band) continue;
    // Alike sizes stand together, so that rows are even; within one size the order is kept.
    const sorted = [...band].sort((a, b) => height[a]! - height[b]! || a - b);
    let left = 0;
    let rowHeight = 0;
    let row: number[] = [];
    const close = () => {
      for (const v of row) y[v] = top + rowHeight / 2;
      top += rowHeight + GAP_Y;
      row = [];
      left = 0;
      rowHeight = 0;
    };
    for (const v of sorted) {
      if (left > 0 && left + width[v]! > line) close();
      x[v] = left + width[v]! / 2;
      left += width[v]! + GAP_X;
      right = Math.max(right, left - GAP_X);
      rowHeight = Math.max(rowHeight, height[v]!);
      row.push(v);
    }
    close();
    top += BAND_GAP - GAP_Y;
  }
  const points = new Float32Array(4 * src.length);
  const start = new Int32Array(src.length + 1);
  for (let e = 0; e < src.length; e++) {
    const a = src[e]!;
    const b = dst[e]!;
    const down = y[b]! >= y[a]!;
    points[4 * e] = x[a]!;
    points[4 * e + 1] = y[a]! + ((down ? 1 : -1) * height[a]!) / 2;
    points[4 * e + 2] = x[b]!;
    points[4 * e + 3] = y[b]! - ((down ? 1 : -1) * height[b]!) / 2;
    start[e + 1] = 2 * (e + 1);
  }
  return { x, y, width: right, height: Math.max(0, top - BAND_GAP), points, start };
}
