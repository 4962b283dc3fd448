/** Computes positions and edge routes from ordered layers and node sizes; tall layouts become columns. */
import { coordinates, type Spacing } from './coordinates.ts';
import { ENTRY, EXIT, type OrderedLayers, type Placed } from './layered_graph.ts';

export interface Sizes {
  width: ArrayLike<number>;
  height: ArrayLike<number>;
  /** Room to keep free at the right of each node (for the stubs of edges that are not drawn). */
  reserve?: Float64Array;
  /** Where edge e meets its ends, from their left borders; NaN: spread over the border. */
  srcPort?: Float64Array;
  dstPort?: Float64Array;
}

const SPACING: Spacing = { node: 26, edge: 14 };
const LEAST_GAP = 30;
const MOST_GAP = 84;
const TALL = 3; // height over width from which a layout is wrapped into columns
const GUTTER = 44;
const MOST_ROUTED = 8; // more edges than this are not routed around the bottom of a column

export function placeLayers(layered: OrderedLayers, sizes: Sizes, spacing = SPACING): Placed {
  const { n, total, layers, rank } = layered;
  const x = coordinates(layered, sizes.width, spacing, sizes.reserve);
  const columns = new Columns(layered, x, sizes);
  const fold = columns.breaks();
  const top = new Float64Array(layers.length);
  const bottom = new Float64Array(layers.length);
  const column = new Int32Array(layers.length);
  const shift = new Float64Array(layers.length);
  const lanes = new Float64Array(layered.segmentUpper.length).fill(NaN);
  let y = 0;
  let left = 0;
  let col = 0;
  let height = 0;
  let right = -Infinity;
  let columnStart = 0;
  const feet: number[] = [];
  const closeColumn = (end: number) => {
    let low = Infinity;
    let high = -Infinity;
    for (let r = columnStart; r < end; r++) {
      for (const v of layers[r]!) {
        const w = v < n ? sizes.width[v]! / 2 : 1;
        low = Math.min(low, x[v]! - w);
        high = Math.max(high, x[v]! + w + (v < n ? (sizes.reserve?.[v] ?? 0) : 0));
      }
    }
    if (low > high) low = high = 0;
    for (let r = columnStart; r < end; r++) shift[r] = left - low;
    right = left + high - low;
    columnStart = end;
  };
  for (let r = 0; r < layers.length; r++) {
    if (fold.includes(r)) {
      closeColumn(r);
      feet.push(y);
      const crossing = columns.segmentsAbove(r);
      crossing.forEach((s, i) => {
        lanes[s] = right + GUTTER / 2 + 10 * i;
      });
      left = right + GUTTER + 10 * Math.max(0, crossing.length - 1);
      height = Math.max(height, y + 26 + 6 * crossing.length);
      y = 26 + 6 * crossing.length;
      col++;
    } else if (r > 0) y += columns.gap(r);
    column[r] = col;
    top[r] = y;
    let tallest = 0;
    for (const v of layers[r]!) if (v < n) tallest = Math.max(tallest, sizes.height[v]!);
    y += tallest;
    bottom[r] = y;
  }
  closeColumn(layers.length);
  height = Math.max(height, y);
  for (let v = 0; v < total; v++) x[v]! += shift[rank[v]!]!;

  const centreY = new Float64Array(n);
  for (let v = 0; v < n; v++) {
    const r = rank[v]!;
    const role = layered.role[v];
    if (role === ENTRY) centreY[v] = top[r]! + sizes.height[v]! / 2;
    else if (role === EXIT) centreY[v] = bottom[r]! - sizes.height[v]! / 2;
    else centreY[v] = (top[r]! + bottom[r]!) / 2;
  }
  const routes = routeEdges(layered, sizes, x, centreY, { top, bottom, column, lanes, feet });
  return { x: x.slice(0, n), y: centreY, width: Math.max(right, 0), height, ...routes };
}

class Columns {
  private readonly layered: OrderedLayers;
  private readonly x: Float64Array;
  private readonly sizes: Sizes;
  private readonly gaps: Float64Array;
  private readonly passing: Int32Array;

  constructor(layered: OrderedLayers, x: Float64Array, sizes: Sizes) {
    this.layered = layered;
    this.x = x;
    this.sizes = sizes;
    const { layers, segmentUpper, segmentLower, rank } = layered;
    this.passing = new Int32Array(layers.length);
    const steepest = new Float64Array(layers.length);
    for (let s = 0; s < segmentUpper.length; s++) {
      const r = rank[segmentLower[s]!]!;
      this.passing[r]!++;
      const across = Math.abs(x[segmentUpper[s]!]! - x[segmentLower[s]!]!);
      if (across > steepest[r]!) steepest[r] = across;
    }
    this.gaps = new Float64Array(layers.length);
    for (let r = 1; r < layers.length; r++) {
      this.gaps[r] = Math.min(MOST_GAP, LEAST_GAP + steepest[r]! * 0.06 + Math.min(20, this.passing[r]!));
    }
  }

  gap(r: number): number {
    return this.gaps[r]!;
  }

  /** The segments between layer r - 1 and layer r, from right to left at their upper ends. */
  segmentsAbove(r: number): number[] {
    const { segmentUpper, segmentLower, rank } = this.layered;
    const found: number[] = [];
    for (let s = 0; s < segmentLower.length; s++) if (rank[segmentLower[s]!] === r) found.push(s);
    return found.sort((s, t) => this.x[segmentUpper[t]!]! - this.x[segmentUpper[s]!]!);
  }

  /** The layers that begin a new column; none unless the layout is tall. */
  breaks(): number[] {
    const { layers, n } = this.layered;
    if (layers.length < 7) return [];
    const heights = layers.map((layer, r) => {
      let tallest = 0;
      for (const v of layer) if (v < n) tallest = Math.max(tallest, this.sizes.height[v]!);
      return tallest + this.gaps[r]!;
    });
    const height = heights.reduce((a, b) => a + b, 0);
    let low = Infinity;
    let high = -Infinity;
    for (let v = 0; v < this.layered.total; v++) {
      const w = v < n ? this.sizes.width[v]! / 2 : 1;
      low = Math.min(low, this.x[v]! - w);
      high = Math.max(high, this.x[v]! + w + (v < n ? (this.sizes.reserve?.[v] ?? 0) : 0));
    }
    const width = high - low;
    if (height < TALL * width || height < 700) return [];
    const count = Math.max(2, Math.min(12, Math.round(Math.sqrt((1.2 * height) / (width + GUTTER)))));
    const found: number[] = [];
    let sum = 0;
    let r = 0;
    for (let c = 1; c < count; c++) {
      const goal = (height * c) / count;
      while (r < layers.length && sum + heights[r]! < goal) sum += heights[r++]!;
      let best = -1;
      let least = Infinity;
      for (let t = Math.max(2, r - 3); t <= Math.min(layers.length - 2, r + 3); t++) {
        if (found.length > 0 && t <= found[found.length - 1]! + 1) continue;
        const cost = this.passing[t]! * 10 + Math.abs(t - r);
        if (cost < least) {
          least = cost;
          best = t;
        }
      }
      if (best > 0 && this.passing[best]! <= MOST_ROUTED) found.push(best);
    }
    return found;
  }
}

interface Bands {
  top: Float64Array;
  bottom: Float64Array;
  column: Int32Array;
  lanes: Float64Array;
  feet: number[];
}

/** Polylines with upright ends: through each dummy's layer straight, S-shaped between layers. */
function routeEdges(
  layered: OrderedLayers,
  sizes: Sizes,
  x: Float64Array,
  y: Float64Array,
  bands: Bands,
): { points: Float32Array; start: Int32Array } {
  const { n, edgeStart, chain, segmentUpper, segmentLower, reversed, rank } = layered;
  const m = edgeStart.length - 1;
  const ports = edgePorts(layered, sizes, x);
  const points: number[] = [];
  const start = new Int32Array(m + 1);
  let path: number[] = [];
  const add = (px: number, py: number) => {
    const k = path.length;
    // Points in one upright line are one piece.
    if (k >= 4 && path[k - 2] === px && path[k - 4] === px) path[k - 1] = py;
    else if (k < 2 || path[k - 2] !== px || path[k - 1] !== py) path.push(px, py);
  };
  for (let e = 0; e < m; e++) {
    start[e] = points.length / 2;
    const from = edgeStart[e]!;
    const to = edgeStart[e + 1]!;
    if (from === to) continue;
    path = [];
    const a = segmentUpper[chain[from]!]!;
    const b = segmentLower[chain[to - 1]!]!;
    add(ports.upper[e]!, y[a]! + sizes.height[a]! / 2);
    let px = ports.upper[e]!;
    for (let i = from; i < to; i++) {
      const s = chain[i]!;
      const upper = rank[segmentUpper[s]!]!;
      const lower = rank[segmentLower[s]!]!;
      const qx = i === to - 1 ? ports.lower[e]! : x[segmentLower[s]!]!;
      add(px, bands.bottom[upper]!);
      if (bands.column[upper] !== bands.column[lower]) {
        const lane = bands.lanes[s]!;
        const foot = bands.feet[bands.column[upper]!]! + 4;
        path.push(px, foot, lane, foot, lane, bands.top[lower]! - 8, qx, bands.top[lower]! - 8);
      }
      add(qx, bands.top[lower]!);
      if (segmentLower[s]! >= n) add(qx, bands.bottom[lower]!);
      px = qx;
    }
    add(px, y[b]! - sizes.height[b]! / 2);
    if (reversed[e]) for (let i = path.length - 2; i >= 0; i -= 2) points.push(path[i]!, path[i + 1]!);
    else for (const p of path) points.push(p);
  }
  start[m] = points.length / 2;
  return { points: Float32Array.from(points), start };
}

/** Where edges leave and enter: spread over the border in the order of what they lead to. */
function edgePorts(
  layered: OrderedLayers,
  sizes: Sizes,
  x: Float64Array,
): { upper: Float64Array; lower: Float64Array } {
  const { edgeStart, chain, segmentUpper, segmentLower, reversed, n, role } = layered;
  const m = edgeStart.length - 1;
  const upper = new Float64Array(m);
  const lower = new Float64Array(m);
  const bottoms: number[][] = Array.from({ length: n }, () => []);
  const tops: number[][] = Array.from({ length: n }, () => []);
  const firstOf = (e: number) => chain[edgeStart[e]!]!;
  const lastOf = (e: number) => chain[edgeStart[e + 1]! - 1]!;
  for (let e = 0; e < m; e++) {
    if (edgeStart[e] === edgeStart[e + 1]) continue;
    bottoms[segmentUpper[firstOf(e)]!]!.push(e);
    tops[segmentLower[lastOf(e)]!]!.push(e);
  }
  for (let v = 0; v < n; v++) {
    for (const below of [true, false]) {
      const edges = (below ? bottoms : tops)[v]!;
      const result = below ? upper : lower;
      const left = x[v]! - sizes.width[v]! / 2;
      // Edges of one trunk leave at one place.
      const free = new Map<number, number[]>();
      for (const e of edges) {
        const own = below === !reversed[e] ? sizes.srcPort : sizes.dstPort;
        const at = own ? own[e]! : NaN;
        if (!Number.isNaN(at)) result[e] = left + at;
        else if (role[v] !== 0) result[e] = x[v]!;
        else {
          const segment = below ? firstOf(e) : lastOf(e);
          const bundle = free.get(segment);
          if (bundle) bundle.push(e);
          else free.set(segment, [e]);
        }
      }
      if (free.size === 0) continue;
      const across = (s: number) => x[below ? segmentLower[s]! : segmentUpper[s]!]!;
      const sorted = [...free].sort(([s], [t]) => across(s) - across(t) || s - t);
      const room = Math.max(0, sizes.width[v]! - 16) * 0.8;
      const step = Math.min(14, room / Math.max(1, sorted.length - 1));
      sorted.forEach(([segment, bundle], i) => {
        let at = x[v]! + (i - (sorted.length - 1) / 2) * step;
        // A single edge that is almost vertical becomes vertical.
        const lone = sorted.length === 1 && sizes.width[v]! > 120;
        if (lone && Math.abs(across(segment) - x[v]!) <= room / 2) at = across(segment);
        for (const e of bundle) result[e] = at;
      });
    }
  }
  return { upper, lower };
}
