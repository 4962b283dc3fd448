/** Lays out the children of one group: first ranks and order, which do not depend on sizes, then positions. */
import { bandRanks, placeBands } from './band_layout.ts';
import type { LayeredGraph, OrderedLayers, Placed } from './layered_graph.ts';
import { makeLayers } from './layers.ts';
import { orderLayers } from './ordering.ts';
import { placeLayers, type Sizes } from './place_layers.ts';

/** From this many children on, rows by rank replace layers with routed edges. */
export const MANY = 400;
/** So do layouts larger than this that would be mostly empty or very narrow. */
const LARGE = 6000;
const DENSER = 3;
const SQUARER = 2;

export type Arrangement =
  | { kind: 'layers'; layered: OrderedLayers; graph: LayeredGraph }
  | { kind: 'bands'; graph: LayeredGraph; rank: Int32Array };

/** The arrangement of a graph, which stays as it is when children change their sizes. */
export function arrange(graph: LayeredGraph, many = MANY, split = true): Arrangement {
  if (graph.n > many) return { kind: 'bands', graph, rank: bandRanks(graph) };
  const layered = makeLayers(graph, split);
  orderLayers(layered, graph.seed);
  return { kind: 'layers', layered, graph };
}

export function place(arrangement: Arrangement, sizes: Sizes): Placed {
  if (arrangement.kind === 'bands') return placeBands(arrangement.graph, arrangement.rank, sizes);
  const placed = placeLayers(arrangement.layered, sizes);
  if (Math.max(placed.width, placed.height) < LARGE) return placed;
  const rows = placeBands(arrangement.graph, bandRanks(arrangement.graph), sizes);
  const denser = DENSER * rows.width * rows.height < placed.width * placed.height;
  return denser || SQUARER * ribbon(rows) < ribbon(placed) ? rows : placed;
}

/** The aspect ratio, at least 1. */
function ribbon({ width, height }: Placed): number {
  return Math.max(width / Math.max(1, height), height / Math.max(1, width));
}

/** Where each node stands from left to right, in 0..1 of its layer: the seed of a later arrangement. */
export function horizontalOrder(arrangement: Arrangement, n: number): Float64Array {
  const order = new Float64Array(n);
  if (arrangement.kind === 'bands') {
    for (let v = 0; v < n; v++) order[v] = v / n;
    return order;
  }
  const { layers, position, rank } = arrangement.layered;
  for (let v = 0; v < n; v++) order[v] = (position[v]! + 0.5) / layers[rank[v]!]!.length;
  return order;
}
