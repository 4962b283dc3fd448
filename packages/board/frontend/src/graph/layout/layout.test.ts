import assert from 'node:assert/strict';
import { test } from 'node:test';
import dagre from 'dagre';
import { edgesToReverse } from './cycles.ts';
import type { LayeredGraph, Placed } from './layered_graph.ts';
import { arrange, horizontalOrder, place } from './layout_group.ts';
import { longestPath, ranks } from './ranks.ts';
import { group, random } from './sample_group.ts';

function sizes(n: number, seed: number) {
  const next = random(seed + 77);
  const width = Float64Array.from({ length: n }, () => 50 + Math.floor(next() * 90));
  return { width, height: new Float64Array(n).fill(30) };
}

function overlaps(placed: Placed, width: Float64Array, height: Float64Array): number {
  const order = Array.from(placed.x.keys()).sort(
    (a, b) => placed.x[a]! - width[a]! / 2 - placed.x[b]! + width[b]! / 2,
  );
  let count = 0;
  for (let i = 0; i < order.length; i++) {
    const a = order[i]!;
    for (let k = i + 1; k < order.length; k++) {
      const b = order[k]!;
      if (placed.x[b]! - width[b]! / 2 >= placed.x[a]! + width[a]! / 2 - 1e-6) break;
      if (Math.abs(placed.y[a]! - placed.y[b]!) < (height[a]! + height[b]!) / 2 - 1e-6) count++;
    }
  }
  return count;
}

type Line = [number, number][];

/** Pairs of edges without a common end whose polylines cross, each crossing once. */
function crossings(lines: Line[], src: Int32Array, dst: Int32Array): number {
  let count = 0;
  const cross = (p: number[], q: number[], r: number[]) =>
    (q[0]! - p[0]!) * (r[1]! - p[1]!) - (q[1]! - p[1]!) * (r[0]! - p[0]!);
  for (let e = 0; e < lines.length; e++) {
    for (let f = e + 1; f < lines.length; f++) {
      if (src[e] === src[f] || dst[e] === dst[f] || src[e] === dst[f] || dst[e] === src[f]) continue;
      const a = lines[e]!;
      const b = lines[f]!;
      for (let i = 1; i < a.length; i++) {
        for (let k = 1; k < b.length; k++) {
          const [p, q, r, s] = [a[i - 1]!, a[i]!, b[k - 1]!, b[k]!];
          if (cross(p, q, r) * cross(p, q, s) < 0 && cross(r, s, p) * cross(r, s, q) < 0) count++;
        }
      }
    }
  }
  return count;
}

function ours(graph: LayeredGraph, s: ReturnType<typeof sizes>): { placed: Placed; lines: Line[] } {
  const placed = place(arrange(graph), s);
  const lines: Line[] = [];
  for (let e = 0; e < graph.src.length; e++) {
    const line: Line = [];
    for (let i = placed.start[e]!; i < placed.start[e + 1]!; i++) {
      line.push([placed.points[2 * i]!, placed.points[2 * i + 1]!]);
    }
    lines.push(line);
  }
  return { placed, lines };
}

function oracle(graph: LayeredGraph, s: ReturnType<typeof sizes>): Line[] {
  const g = new dagre.graphlib.Graph();
  g.setGraph({});
  g.setDefaultEdgeLabel(() => ({}));
  for (let v = 0; v < graph.n; v++) g.setNode(String(v), { width: s.width[v]!, height: s.height[v]! });
  for (let e = 0; e < graph.src.length; e++) g.setEdge(String(graph.src[e]), String(graph.dst[e]));
  dagre.layout(g);
  return Array.from(graph.src, (a, e) =>
    g
      .edge(String(a), String(graph.dst[e]))
      .points.map((p: { x: number; y: number }) => [p.x, p.y] as [number, number]),
  );
}

test('reversed edges leave no cycle, and a loop is reversed at its back edge', () => {
  // 0 -> 1 (merge) -> 2 -> 3 (next iteration) -> 1, 2 -> 4
  const src = Int32Array.from([0, 1, 2, 3, 2]);
  const dst = Int32Array.from([1, 2, 3, 1, 4]);
  assert.deepEqual([...edgesToReverse(5, src, dst, undefined)], [0, 0, 0, 1, 0]);
  for (let seed = 0; seed < 50; seed++) {
    const next = random(seed);
    const n = 12;
    const a = Int32Array.from({ length: 30 }, () => Math.floor(next() * n));
    const b = Int32Array.from({ length: 30 }, () => Math.floor(next() * n));
    const turned = edgesToReverse(n, a, b, undefined);
    const kept = [...a.keys()].filter((e) => a[e] !== b[e]);
    const rank = longestPath(
      n,
      Int32Array.from(kept, (e) => (turned[e] ? b[e]! : a[e]!)),
      Int32Array.from(kept, (e) => (turned[e] ? a[e]! : b[e]!)),
    );
    for (const e of kept) assert.ok(turned[e] ? rank[b[e]!]! < rank[a[e]!]! : rank[a[e]!]! < rank[b[e]!]!);
  }
});

test('ranks are as short in sum as the best that exists', () => {
  // A source with one late reader lies just above it, not at the top.
  const src = Int32Array.from([0, 1, 2, 4]);
  const dst = Int32Array.from([1, 2, 3, 3]);
  assert.deepEqual([...ranks(5, src, dst, new Float64Array(4).fill(1))], [0, 1, 2, 3, 2]);
  for (let seed = 0; seed < 30; seed++) {
    const next = random(seed);
    const n = 6;
    const pairs: [number, number][] = [];
    for (let a = 0; a < n; a++) for (let b = a + 1; b < n; b++) if (next() < 0.4) pairs.push([a, b]);
    if (pairs.length === 0) continue;
    const from = Int32Array.from(pairs, (p) => p[0]);
    const to = Int32Array.from(pairs, (p) => p[1]);
    const weight = Float64Array.from(pairs, () => 1 + Math.floor(next() * 3));
    const sum = (rank: ArrayLike<number>) =>
      pairs.reduce((s, [a, b], e) => s + weight[e]! * (rank[b]! - rank[a]!), 0);
    let best = Infinity;
    const rank = new Int32Array(n);
    const search = (v: number): void => {
      if (v === n) {
        best = Math.min(best, sum(rank));
        return;
      }
      for (let r = 0; r < n; r++) {
        rank[v] = r;
        if (pairs.every(([a, b]) => b !== v || rank[a]! < r)) search(v + 1);
      }
    };
    search(0);
    assert.equal(sum(ranks(n, from, to, weight)), best, `seed ${seed}`);
  }
});

test('crossings stay within 1.1 times those of dagre on 30 groups, and no two boxes overlap (A20)', () => {
  let own = 0;
  let theirs = 0;
  for (let seed = 0; seed < 30; seed++) {
    const n = 12 + Math.floor(random(seed)() * 138);
    const graph = group(seed, n, Math.floor(n * 1.45));
    const s = sizes(n, seed);
    const { placed, lines } = ours(graph, s);
    assert.equal(overlaps(placed, s.width, s.height), 0);
    own += crossings(lines, graph.src, graph.dst);
    theirs += crossings(oracle(graph, s), graph.src, graph.dst);
  }
  assert.ok(own <= 1.1 * theirs, `${own} crossings, dagre has ${theirs}`);
});

test('no two of 3000 boxes in one group overlap', () => {
  const graph = group(5, 3000, 4500);
  const s = sizes(3000, 5);
  assert.equal(overlaps(place(arrange(graph, Infinity), s), s.width, s.height), 0);
});

test('a chain of 60 becomes columns, and many parallel nodes become rows', () => {
  const n = 60;
  const chain = {
    n,
    src: Int32Array.from({ length: n - 1 }, (_, i) => i),
    dst: Int32Array.from({ length: n - 1 }, (_, i) => i + 1),
  };
  const width = new Float64Array(n).fill(110);
  const height = new Float64Array(n).fill(30);
  const tall = place(arrange(chain), { width, height });
  assert.ok(tall.height <= 3 * tall.width, `${tall.width} x ${tall.height}`);
  assert.equal(overlaps(tall, width, height), 0);
  const star = { n, src: new Int32Array(n - 1), dst: chain.dst };
  const wide = place(arrange(star), { width, height });
  assert.ok(wide.width <= 3 * wide.height, `${wide.width} x ${wide.height}`);
  assert.equal(overlaps(wide, width, height), 0);
});

test('ports lie on the first and the last layer', () => {
  const graph = {
    n: 5,
    src: Int32Array.from([0, 1, 2]),
    dst: Int32Array.from([1, 2, 4]),
    role: Uint8Array.from([1, 0, 0, 0, 2]),
  };
  const width = new Float64Array(5).fill(40);
  const height = Float64Array.from([0, 20, 20, 20, 0]);
  const { y, height: all } = place(arrange(graph), { width, height });
  assert.equal(y[0], 0);
  assert.equal(y[4], all);
});

test('with a seed, known nodes keep their order from left to right', () => {
  for (let seed = 0; seed < 10; seed++) {
    const n = 40;
    const graph = group(seed, n, 60);
    const first = arrange(graph);
    const order = horizontalOrder(first, n);
    const s = sizes(n, seed);
    const x = place(first, s).x;
    // One node becomes five.
    const more = {
      n: n + 4,
      src: Int32Array.from([...graph.src, 20, n, n + 1, n + 2]),
      dst: Int32Array.from([...graph.dst, n, n + 1, n + 2, n + 3]),
      seed: Float64Array.from([...order, NaN, NaN, NaN, NaN]),
    };
    const second = arrange(more);
    const y = place(second, sizes(n + 4, seed)).x;
    if (first.kind !== 'layers' || second.kind !== 'layers') throw new Error('few nodes are layers');
    for (let a = 0; a < n; a++) {
      for (let b = 0; b < n; b++) {
        if (first.layered.rank[a] !== first.layered.rank[b]) continue;
        if (second.layered.rank[a] !== second.layered.rank[b]) continue;
        if (x[a]! < x[b]!) assert.ok(y[a]! < y[b]!, `seed ${seed}: ${a} and ${b}`);
      }
    }
  }
});

test('1300 children become rows without overlaps', () => {
  const graph = group(3, 1300, 1300);
  const s = sizes(1300, 3);
  const arrangement = arrange(graph);
  assert.equal(arrangement.kind, 'bands');
  const placed = place(arrangement, s);
  assert.equal(overlaps(placed, s.width, s.height), 0);
  assert.ok(placed.width <= 3 * placed.height && placed.height <= 3 * placed.width);
});

test('wide opened children become rows and columns without overlaps', () => {
  // One feeds all, as a port does; and a chain of wide ones.
  const fan = { n: 41, src: new Int32Array(40), dst: Int32Array.from({ length: 40 }, (_, i) => i + 1) };
  const chain = {
    n: 12,
    src: Int32Array.from({ length: 11 }, (_, i) => i),
    dst: Int32Array.from({ length: 11 }, (_, i) => i + 1),
  };
  for (const graph of [fan, chain]) {
    const width = new Float64Array(graph.n).fill(2000);
    const height = new Float64Array(graph.n).fill(graph === fan ? 300 : 9000);
    const placed = place(arrange(graph), { width, height });
    assert.ok(
      placed.width < 4 * placed.height && placed.height < 4 * placed.width,
      `${placed.width} x ${placed.height}`,
    );
    for (let a = 0; a < graph.n; a++) {
      for (let b = 0; b < a; b++) {
        const apart =
          Math.abs(placed.x[a]! - placed.x[b]!) >= 2000 ||
          Math.abs(placed.y[a]! - placed.y[b]!) >= height[0]!;
        assert.ok(apart, `${a} lies on ${b}`);
      }
    }
  }
});
