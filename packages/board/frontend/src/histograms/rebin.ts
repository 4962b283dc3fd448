/** Converts counts between sets of bins, assuming a uniform distribution within each bin. */

type Numbers = ArrayLike<number>;

/**
 * Moves counts from the bins `edges` to the bins `newEdges`; edges ascend, counts has one element less.
 * Values outside of `newEdges` go to its first or last bin, so that the sum stays the same.
 */
export function rebin(edges: Numbers, counts: Numbers, newEdges: Numbers): Float64Array {
  const bins = newEdges.length - 1;
  const out = new Float64Array(Math.max(0, bins));
  if (bins < 1) return out;
  for (let i = 0; i < counts.length; i++) {
    const count = counts[i]!;
    if (!count) continue;
    const lo = edges[i]!;
    const hi = edges[i + 1]!;
    const width = hi - lo;
    if (!(width > 0) || !Number.isFinite(width)) {
      out[binOf(newEdges, Number.isFinite(lo) ? lo : hi)]! += count;
      continue;
    }
    const first = binOf(newEdges, lo);
    const last = binOf(newEdges, hi);
    for (let bin = first; bin <= last; bin++) {
      // The outermost bins take values outside.
      const from = bin === 0 ? lo : Math.max(lo, newEdges[bin]!);
      const to = bin === bins - 1 ? hi : Math.min(hi, newEdges[bin + 1]!);
      if (to > from) out[bin]! += (count * (to - from)) / width;
    }
  }
  return out;
}

/** The bin of a value, the first or last bin for values outside. A value on an edge is in the upper bin. */
export function binOf(edges: Numbers, value: number): number {
  let lo = 0;
  let hi = edges.length - 2;
  while (lo < hi) {
    const middle = (lo + hi + 1) >> 1;
    if (edges[middle]! <= value) lo = middle;
    else hi = middle - 1;
  }
  return lo;
}

/** `bins` bins of one width that hold all of several sets of edges. */
export function sharedEdges(sets: Numbers[], bins: number): Float64Array {
  let lo = Infinity;
  let hi = -Infinity;
  for (const edges of sets) {
    for (let i = 0; i < edges.length; i++) {
      const edge = edges[i]!;
      if (!Number.isFinite(edge)) continue;
      if (edge < lo) lo = edge;
      if (edge > hi) hi = edge;
    }
  }
  if (!(hi >= lo)) [lo, hi] = [0, 1];
  if (hi === lo) [lo, hi] = lo === 0 ? [-0.5, 0.5] : [lo - Math.abs(lo) / 2, hi + Math.abs(hi) / 2];
  const out = new Float64Array(bins + 1);
  for (let i = 0; i <= bins; i++) out[i] = i === bins ? hi : lo + ((hi - lo) * i) / bins;
  return out;
}
