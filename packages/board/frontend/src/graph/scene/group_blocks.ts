/** Arranges the connected components of a group's content, and places them beside each other. */

import { ENTRY, EXIT, type Placed } from '../layout/layered_graph.ts';
import { type Arrangement, arrange, horizontalOrder, MANY, place } from '../layout/layout_group.ts';
import { TITLE_HEIGHT } from './box_sizes.ts';
import type { GroupContent } from './group_content.ts';

const BLOCK_GAP = 30;
export const MOST_KEPT = 20_000;

/** Positions within repeated scopes, by arrangement and sizes. */
export type Placements = Map<Arrangement, Map<string, Placed>>;

/** A connected component of a group: its nodes, and their arrangement. */
export interface Block {
  nodes: number[];
  edges: number[];
  arrangement: Arrangement | null; // null: one node
}

export interface Shape {
  signature: string;
  content: GroupContent;
  blocks: Block[];
  order: Map<number, number>;
}

/** Splits the content into parts that hang together, and arranges each. */
export function makeShape(
  content: GroupContent,
  signature: string,
  seedOf: ((item: number) => number) | null,
  known: Map<string, Arrangement>,
): Shape {
  const items = content.items.length;
  const nodes = items + content.ports.length;
  const parent = Int32Array.from({ length: nodes }, (_, v) => v);
  const find = (v: number): number => {
    let at = v;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]!]!;
      at = parent[at]!;
    }
    return at;
  };
  for (let e = 0; e < content.src.length; e++) parent[find(content.src[e]!)] = find(content.dst[e]!);
  // Ports lie on the border, so all nodes connected to ports form one block.
  for (let p = items + 1; p < nodes; p++) parent[find(p)] = find(items);
  const byRoot = new Map<number, Block>();
  for (let v = 0; v < nodes; v++) {
    const root = find(v);
    const block = byRoot.get(root);
    if (block) block.nodes.push(v);
    else byRoot.set(root, { nodes: [v], edges: [], arrangement: null });
  }
  for (let e = 0; e < content.src.length; e++) byRoot.get(find(content.src[e]!))!.edges.push(e);
  const blocks = [...byRoot.values()];
  const rootOfPorts = nodes > items ? find(items) : -1;
  blocks.sort(
    (a, b) =>
      Number(find(b.nodes[0]!) === rootOfPorts) - Number(find(a.nodes[0]!) === rootOfPorts) ||
      b.nodes.length - a.nodes.length,
  );
  const order = new Map<number, number>();
  for (const block of blocks) {
    if (block.nodes.length === 1 && block.nodes[0]! < items) {
      order.set(content.items[block.nodes[0]!]!, 0.5);
      continue;
    }
    const local = new Map(block.nodes.map((v, i) => [v, i]));
    const seed = seedOf
      ? Float64Array.from(block.nodes, (v) => (v < items ? seedOf(content.items[v]!) : NaN))
      : null;
    const graph = {
      n: block.nodes.length,
      src: Int32Array.from(block.edges, (e) => local.get(content.src[e]!)!),
      dst: Int32Array.from(block.edges, (e) => local.get(content.dst[e]!)!),
      weight: Float64Array.from(block.edges, (e) => (content.data[e]! > 0 ? 4 : 1)),
      role: Uint8Array.from(block.nodes, (v) =>
        v < items ? 0 : content.ports[v - items]!.outgoing ? EXIT : ENTRY,
      ),
    };
    if (seed) block.arrangement = arrange({ ...graph, seed }, MANY);
    else {
      // Repeated scopes are arranged once.
      const key = `${graph.n}|${graph.src.join()}|${graph.dst.join()}|${graph.weight.join()}|${graph.role.join()}`;
      block.arrangement = known.get(key) ?? arrange(graph, MANY);
      known.set(key, block.arrangement);
    }
    const across = horizontalOrder(block.arrangement, graph.n);
    block.nodes.forEach((v, i) => {
      if (v < items) order.set(content.items[v]!, across[i]!);
    });
  }
  return { signature, content, blocks, order };
}

export interface NodeSizes {
  w: Float64Array;
  h: Float64Array;
  reserve: Float64Array;
  srcPort: Float64Array;
  dstPort: Float64Array;
}

/** Places the first block, with the others in rows below it, or beside it where edges leave downwards. */
export function placeBlocks(
  blocks: Block[],
  content: GroupContent,
  sizes: NodeSizes,
  known: Placements,
): Placed {
  const nodes = sizes.w.length;
  const m = content.src.length;
  const x = new Float64Array(nodes);
  const y = new Float64Array(nodes);
  const routes: (Float32Array | null)[] = new Array(m).fill(null);
  const placed = blocks.map((block) => {
    if (!block.arrangement) {
      const v = block.nodes[0]!;
      return {
        x: Float64Array.of(sizes.w[v]! / 2),
        y: Float64Array.of(sizes.h[v]! / 2),
        width: sizes.w[v]! + sizes.reserve[v]!,
        height: sizes.h[v]!,
        points: new Float32Array(0),
        start: new Int32Array(1),
      };
    }
    const pick = (of: Float64Array, by: number[]) => Float64Array.from(by, (i) => of[i]!);
    const own = {
      width: pick(sizes.w, block.nodes),
      height: pick(sizes.h, block.nodes),
      reserve: pick(sizes.reserve, block.nodes),
      srcPort: pick(sizes.srcPort, block.edges),
      dstPort: pick(sizes.dstPort, block.edges),
    };
    const key = `${own.width.join()}|${own.height.join()}|${own.reserve.join()}|${own.srcPort.join()}|${own.dstPort.join()}`;
    let kept = known.get(block.arrangement);
    if (!kept) {
      if (known.size > MOST_KEPT) known.clear();
      kept = new Map();
      known.set(block.arrangement, kept);
    }
    if (kept.size > 200) kept.clear();
    const one = kept.get(key) ?? place(block.arrangement, own);
    kept.set(key, one);
    return one;
  });
  let width = 0;
  let height = 0;
  const put = (i: number, left: number, top: number) => {
    const block = blocks[i]!;
    const one = placed[i]!;
    block.nodes.forEach((v, k) => {
      x[v] = one.x[k]! + left;
      y[v] = one.y[k]! + top;
    });
    block.edges.forEach((e, k) => {
      const route = one.points.slice(2 * one.start[k]!, 2 * one.start[k + 1]!);
      for (let p = 0; p < route.length; p += 2) {
        route[p]! += left;
        route[p + 1]! += top;
      }
      routes[e] = route;
    });
    width = Math.max(width, left + one.width);
    height = Math.max(height, top + one.height);
  };
  const hasPorts = content.ports.length > 0;
  const main = blocks.length > 0 && blocks[0]!.arrangement ? 1 : 0;
  if (main === 1) put(0, 0, 0);
  if (blocks.length > main) {
    const rest = placed.slice(main);
    let area = 0;
    for (const one of rest) area += (one.width + BLOCK_GAP) * (one.height + BLOCK_GAP);
    const exits = content.ports.some((p) => p.outgoing);
    const beside = main === 1 && (exits || height > 1.3 * width);
    // Entry edges lead to the first rank; other blocks begin under the title.
    const startTop = beside ? (hasPorts ? TITLE_HEIGHT : 0) : main === 1 ? height + BLOCK_GAP : 0;
    const startLeft = beside ? width + BLOCK_GAP : 0;
    let line = beside ? Math.sqrt(area * 0.7) : Math.max(main === 1 ? width : 0, Math.sqrt(area * 1.7));
    for (const one of rest) line = Math.max(line, one.width);
    let left = 0;
    let top = startTop;
    let row = 0;
    rest.forEach((one, i) => {
      if (left > 0 && left + one.width > line) {
        left = 0;
        top += row + 22;
        row = 0;
      }
      put(main + i, startLeft + left, top);
      left += one.width + 22;
      row = Math.max(row, one.height);
    });
  }
  // Exits stay on the lower border when another block is taller.
  content.ports.forEach((port, i) => {
    const v = content.items.length + i;
    if (port.outgoing) y[v] = height;
  });
  let count = 0;
  for (const route of routes) count += route?.length ?? 0;
  const points = new Float32Array(count);
  const start = new Int32Array(m + 1);
  let at = 0;
  routes.forEach((route, e) => {
    start[e] = at / 2;
    if (route) {
      points.set(route, at);
      at += route.length;
    }
  });
  start[m] = at / 2;
  return { x, y, width, height, points, start };
}
