/** Horizontal positions of nodes within their layers (Brandes and Köpf 2001). */
import { groupBy, type OrderedLayers, type Rows } from './layered_graph.ts';

export interface Spacing {
  node: number;
  edge: number;
}

/**
 * x of the centre of every node and dummy; neighbours keep their distance and order.
 *
 * reserve: room to keep free at the right of a node, beside its width.
 */
export function coordinates(
  layered: OrderedLayers,
  width: ArrayLike<number>,
  spacing: Spacing,
  reserve?: ArrayLike<number>,
): Float64Array {
  const { total, n } = layered;
  if (total === 0) return new Float64Array(0);
  const toLeft = new Float64Array(total);
  const toRight = new Float64Array(total);
  for (let v = 0; v < total; v++) {
    toLeft[v] = v < n ? width[v]! / 2 + spacing.node / 2 : spacing.edge / 2;
    toRight[v] = toLeft[v]! + (v < n && reserve ? reserve[v]! : 0);
  }
  const brandes = new Alignment(layered, toLeft, toRight);
  const four: Float64Array[] = [];
  for (const fromAbove of [true, false]) {
    for (const leftFirst of [true, false]) four.push(brandes.run(fromAbove, leftFirst));
  }
  // All four are moved onto the narrowest, then each node takes the mean of its two middle places.
  let narrowest = 0;
  let least = Infinity;
  const bounds = four.map((x, i) => {
    let low = Infinity;
    let high = -Infinity;
    for (let v = 0; v < total; v++) {
      low = Math.min(low, x[v]! - toLeft[v]!);
      high = Math.max(high, x[v]! + toRight[v]!);
    }
    if (high - low < least) {
      least = high - low;
      narrowest = i;
    }
    return [low, high] as const;
  });
  four.forEach((x, i) => {
    const leftFirst = i % 2 === 0;
    const shift = leftFirst ? bounds[narrowest]![0] - bounds[i]![0] : bounds[narrowest]![1] - bounds[i]![1];
    for (let v = 0; v < total; v++) x[v]! += shift;
  });
  const result = new Float64Array(total);
  const [a, b, c, d] = four as [Float64Array, Float64Array, Float64Array, Float64Array];
  for (let v = 0; v < total; v++) {
    const low = Math.min(a[v]!, b[v]!, c[v]!, d[v]!);
    const high = Math.max(a[v]!, b[v]!, c[v]!, d[v]!);
    result[v] = (a[v]! + b[v]! + c[v]! + d[v]! - low - high) / 2;
  }
  return result;
}

class Alignment {
  private readonly layered: OrderedLayers;
  private readonly toLeft: Float64Array;
  private readonly toRight: Float64Array;
  private readonly above: Rows;
  private readonly below: Rows;
  private readonly conflict: Uint8Array;

  constructor(layered: OrderedLayers, toLeft: Float64Array, toRight: Float64Array) {
    this.layered = layered;
    this.toLeft = toLeft;
    this.toRight = toRight;
    this.above = sortedRows(groupBy(layered.segmentLower, layered.total), layered, layered.segmentUpper);
    this.below = sortedRows(groupBy(layered.segmentUpper, layered.total), layered, layered.segmentLower);
    this.conflict = this.conflicts();
  }

  /** Segments that cross an inner segment (dummy to dummy): long edges stay straight, these give way. */
  private conflicts(): Uint8Array {
    const { layers, segmentUpper, position, n } = this.layered;
    const conflict = new Uint8Array(segmentUpper.length);
    for (let r = 1; r < layers.length; r++) {
      const layer = layers[r]!;
      let left = 0;
      let scanned = 0;
      for (let i = 0; i < layer.length; i++) {
        const inner = this.innerFrom(layer[i]!);
        if (inner < 0 && i < layer.length - 1) continue;
        const right = inner >= 0 ? position[inner]! : layers[r - 1]!.length;
        for (; scanned <= i; scanned++) {
          const v = layer[scanned]!;
          for (let k = this.above.start[v]!; k < this.above.start[v + 1]!; k++) {
            const s = this.above.item[k]!;
            const u = segmentUpper[s]!;
            const p = position[u]!;
            if ((p < left || p > right) && !(u >= n && v >= n)) conflict[s] = 1;
          }
        }
        left = right;
      }
    }
    return conflict;
  }

  private innerFrom(v: number): number {
    const { segmentUpper, n } = this.layered;
    if (v < n) return -1;
    const k = this.above.start[v]!;
    if (k === this.above.start[v + 1]) return -1;
    const u = segmentUpper[this.above.item[k]!]!;
    return u >= n ? u : -1;
  }

  run(fromAbove: boolean, leftFirst: boolean): Float64Array {
    const { layers, position, total, segmentUpper, segmentLower } = this.layered;
    const root = new Int32Array(total);
    const align = new Int32Array(total);
    for (let v = 0; v < total; v++) root[v] = align[v] = v;
    const rows = fromAbove ? this.above : this.below;
    const ends = fromAbove ? segmentUpper : segmentLower;
    for (let i = 0; i < layers.length; i++) {
      const layer = layers[fromAbove ? i : layers.length - 1 - i]!;
      let limit = leftFirst ? -1 : Infinity;
      for (let j = 0; j < layer.length; j++) {
        const v = layer[leftFirst ? j : layer.length - 1 - j]!;
        const from = rows.start[v]!;
        const count = rows.start[v + 1]! - from;
        if (count === 0) continue;
        const low = (count - 1) >> 1;
        const high = count >> 1;
        for (let t = 0; t <= high - low; t++) {
          if (align[v] !== v) break;
          const s = rows.item[from + (leftFirst ? low + t : high - t)]!;
          const u = ends[s]!;
          const p = position[u]!;
          if (this.conflict[s] || (leftFirst ? p <= limit : p >= limit)) continue;
          align[u] = v;
          root[v] = root[u]!;
          align[v] = root[v]!;
          limit = p;
        }
      }
    }
    return this.compact(root, leftFirst);
  }

  /** Places blocks as far to one side as possible, then moves each towards its neighbours. */
  private compact(root: Int32Array, leftFirst: boolean): Float64Array {
    const { layers, total } = this.layered;
    let pairs = 0;
    for (const layer of layers) pairs += Math.max(0, layer.length - 1);
    const first = new Int32Array(pairs);
    const second = new Int32Array(pairs);
    const gap = new Float64Array(pairs);
    let count = 0;
    for (const layer of layers) {
      for (let i = 1; i < layer.length; i++) {
        const u = layer[i - 1]!;
        const v = layer[i]!;
        first[count] = root[leftFirst ? u : v]!;
        second[count] = root[leftFirst ? v : u]!;
        gap[count++] = this.toRight[u]! + this.toLeft[v]!;
      }
    }
    const out = groupBy(first, total);
    const waiting = new Int32Array(total);
    for (const v of second) waiting[v]!++;
    const order = new Int32Array(total);
    let filled = 0;
    for (let v = 0; v < total; v++) if (root[v] === v && waiting[v] === 0) order[filled++] = v;
    const x = new Float64Array(total);
    for (let i = 0; i < filled; i++) {
      const v = order[i]!;
      for (let k = out.start[v]!; k < out.start[v + 1]!; k++) {
        const p = out.item[k]!;
        const w = second[p]!;
        x[w] = Math.max(x[w]!, x[v]! + gap[p]!);
        if (--waiting[w]! === 0) order[filled++] = w;
      }
    }
    for (let i = filled - 1; i >= 0; i--) {
      const v = order[i]!;
      let most = Infinity;
      for (let k = out.start[v]!; k < out.start[v + 1]!; k++) {
        const p = out.item[k]!;
        most = Math.min(most, x[second[p]!]! - gap[p]!);
      }
      if (most !== Infinity && most > x[v]!) x[v] = most;
    }
    const result = new Float64Array(total);
    for (let v = 0; v < total; v++) result[v] = leftFirst ? x[root[v]!]! : -x[root[v]!]!;
    return result;
  }
}

function sortedRows(rows: Rows, layered: OrderedLayers, ends: Int32Array): Rows {
  const { position } = layered;
  for (let v = 0; v < layered.total; v++) {
    const from = rows.start[v]!;
    const to = rows.start[v + 1]!;
    if (to - from < 2) continue;
    rows.item.subarray(from, to).sort((s, t) => position[ends[s]!]! - position[ends[t]!]!);
  }
  return rows;
}
