/** Lays out the children of one group: first what sizes do not change, then places and routes. */
import { bandRanks, placeBands } from './band_layout.ts';
import type { LayeredGraph, OrderedLayers, Placed } from './layered_graph.ts';
import { makeLayers } from './layers.ts';
import { orderLayers } from './ordering.ts';
import { placeLayers, type Sizes } from './place_layers.ts';

/** From this many children on, rows by rank take the place of layers with routed edges. */
export const MANY = 400;

export type Arrangement =
  | { kind: 'layers'; layered: OrderedLayers }
  | { kind: 'bands'; graph: LayeredGraph; rank: Int32Array };

/** The arrangement of a graph, which stays as it is when children change their sizes. */
export function arrange(graph: LayeredGraph, many = MANY, split = true): Arrangement {
  if (graph.n > many) return { kind: 'bands', graph, rank: bandRanks(graph) };
  const layered = makeLayers(graph, split);
  orderLayers(layered, graph.seed);
  return { kind: 'layers', layered };
}

export function place(arrangement: Arrangement, sizes: Sizes): Placed {
  if (arrangement.kind === 'bands')
    return placeBands(arrangement.graph, arrangement.rank, sizes.width, sizes.height);
  return placeLayers(arrangement.layered, sizes);
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
