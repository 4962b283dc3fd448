/** The input and output of the layout engine. Ranks run down the page, in the direction of reading. */

/** Where a node must lie: anywhere, or on the upper or lower border (a port of an opened group). */
export const INNER = 0;
export const ENTRY = 1;
export const EXIT = 2;

export interface LayeredGraph {
  n: number;
  src: Int32Array;
  dst: Int32Array;
  /** How strongly an edge is kept short and straight; equal for all edges if missing. */
  weight?: Float64Array;
  role?: Uint8Array;
  /** 1 for edges that are known to lead back (into a loop's Merge). */
  back?: Uint8Array;
  /** Where each node stood from left to right before; NaN for a new one. Known nodes keep that order. */
  seed?: Float64Array;
}

/** The part of a layout that does not depend on sizes: ranks, dummy nodes, and the order within ranks. */
export interface OrderedLayers {
  n: number;
  /** Real nodes and dummies together. */
  total: number;
  rank: Int32Array;
  layers: Int32Array[];
  /** Index within its layer, of each node. */
  position: Int32Array;
  /** Segments join neighbouring layers. */
  segmentUpper: Int32Array;
  segmentLower: Int32Array;
  segmentWeight: Float64Array;
  /**
   * Edge e runs along the segments chain[edgeStart[e]] .. chain[edgeStart[e+1]-1], downwards. Long edges
   * of one node share a trunk. Self-loops have no segments.
   */
  edgeStart: Int32Array;
  chain: Int32Array;
  /** 1 where the edge runs upwards: its segments are those of the reversed edge. */
  reversed: Uint8Array;
  role: Uint8Array;
  crossings: number;
}

export interface Placed {
  /** Centres, of the real nodes. */
  x: Float64Array;
  y: Float64Array;
  width: number;
  height: number;
  /** x, y pairs of edge e are points[2*start[e] .. 2*start[e+1]], from source to destination. */
  points: Float32Array;
  start: Int32Array;
}

/** Neighbours as compressed rows. */
export interface Rows {
  start: Int32Array;
  item: Int32Array;
}

/** Which indices i have key[i] = k, for each k below n. */
export function groupBy(key: Int32Array, n: number): Rows {
  const start = new Int32Array(n + 1);
  for (let i = 0; i < key.length; i++) start[key[i]! + 1]!++;
  for (let k = 0; k < n; k++) start[k + 1]! += start[k]!;
  const next = start.slice(0, n);
  const item = new Int32Array(key.length);
  for (let i = 0; i < key.length; i++) item[next[key[i]!]!++] = i;
  return { start, item };
}
