/** Ranks of an acyclic graph: longest path, then shortened edges by network simplex. */
import { groupBy } from './layered_graph.ts';

const WORK = 4_000_000; // upper limit of visited nodes and edges, about 40 ms
const UNSEEN = -1;

/** Ranks from 0; every edge leads at least one rank down. */
export function ranks(n: number, src: Int32Array, dst: Int32Array, weight: Float64Array): Int32Array {
  const rank = longestPath(n, src, dst);
  if (n < 2 || src.length === 0) return rank;
  // A root above all sources joins the components in one tree; its edges have no weight.
  const indegree = new Int32Array(n);
  for (const d of dst) indegree[d]!++;
  const roots: number[] = [];
  for (let v = 0; v < n; v++) if (indegree[v] === 0) roots.push(v);
  const from = new Int32Array(src.length + roots.length);
  const to = new Int32Array(from.length);
  const pull = new Float64Array(from.length);
  from.set(src);
  to.set(dst);
  pull.set(weight);
  roots.forEach((v, i) => {
    from[src.length + i] = n;
    to[src.length + i] = v;
  });
  const all = new Int32Array(n + 1);
  for (let v = 0; v < n; v++) all[v] = rank[v]! + 1;
  new Simplex(n + 1, from, to, pull, all).run();
  // Each component starts at rank 0.
  const component = components(n, src, dst);
  const least = new Map<number, number>();
  for (let v = 0; v < n; v++)
    least.set(component[v]!, Math.min(least.get(component[v]!) ?? Infinity, all[v]!));
  for (let v = 0; v < n; v++) rank[v] = all[v]! - least.get(component[v]!)!;
  return rank;
}

export function longestPath(n: number, src: Int32Array, dst: Int32Array): Int32Array {
  const rank = new Int32Array(n);
  const out = groupBy(src, n);
  const waiting = new Int32Array(n);
  for (const d of dst) waiting[d]!++;
  const ready: number[] = [];
  for (let v = 0; v < n; v++) if (waiting[v] === 0) ready.push(v);
  for (let i = 0; i < ready.length; i++) {
    const v = ready[i]!;
    for (let k = out.start[v]!; k < out.start[v + 1]!; k++) {
      const w = dst[out.item[k]!]!;
      if (rank[w]! < rank[v]! + 1) rank[w] = rank[v]! + 1;
      if (--waiting[w]! === 0) ready.push(w);
    }
  }
  return rank;
}

export function components(n: number, src: Int32Array, dst: Int32Array): Int32Array {
  const parent = Int32Array.from({ length: n }, (_, v) => v);
  const find = (v: number): number => {
    let at = v;
    while (parent[at] !== at) {
      parent[at] = parent[parent[at]!]!;
      at = parent[at]!;
    }
    return at;
  };
  for (let e = 0; e < src.length; e++) parent[find(src[e]!)] = find(dst[e]!);
  return parent.map((_, v) => find(v));
}

/** Gansner, Koutsofios, North, Vo 1993, section 2, with cut values counted anew after each exchange. */
class Simplex {
  private readonly n: number;
  private readonly src: Int32Array;
  private readonly dst: Int32Array;
  private readonly weight: Float64Array;
  private readonly rank: Int32Array;
  private readonly around: ReturnType<typeof groupBy>;
  private readonly inTree: Uint8Array;
  private readonly parentEdge: Int32Array;
  private readonly low: Int32Array;
  private readonly limit: Int32Array;
  private readonly order: Int32Array;
  private readonly cut: Float64Array;

  constructor(n: number, src: Int32Array, dst: Int32Array, weight: Float64Array, rank: Int32Array) {
    this.n = n;
    this.src = src;
    this.dst = dst;
    this.weight = weight;
    this.rank = rank;
    const both = new Int32Array(2 * src.length);
    both.set(src);
    both.set(dst, src.length);
    this.around = groupBy(both, n);
    this.inTree = new Uint8Array(src.length);
    this.parentEdge = new Int32Array(n);
    this.low = new Int32Array(n);
    this.limit = new Int32Array(n);
    this.order = new Int32Array(n);
    this.cut = new Float64Array(src.length);
  }

  run(): void {
    this.growTightTree();
    const turns = Math.min(2000, Math.floor(WORK / (6 * (this.n + this.src.length))));
    let from = 0;
    for (let turn = 0; turn < turns; turn++) {
      this.number();
      this.cutValues();
      const leaving = this.leaving(from);
      if (leaving < 0) return;
      from = leaving + 1;
      const entering = this.entering(leaving);
      if (entering < 0) return;
      this.exchange(leaving, entering);
    }
  }

  private slack(e: number): number {
    return this.rank[this.dst[e]!]! - this.rank[this.src[e]!]! - 1;
  }

  private growTightTree(): void {
    const { n, src, dst, rank, around, inTree } = this;
    const m = src.length;
    const inside = new Uint8Array(n);
    const stack = [n - 1];
    inside[n - 1] = 1;
    let count = 1;
    const members = [n - 1];
    for (;;) {
      while (stack.length > 0) {
        const v = stack.pop()!;
        for (let k = around.start[v]!; k < around.start[v + 1]!; k++) {
          const e = around.item[k]! % m;
          const w = src[e] === v ? dst[e]! : src[e]!;
          if (inside[w] || this.slack(e) !== 0) continue;
          inside[w] = 1;
          inTree[e] = 1;
          count++;
          members.push(w);
          stack.push(w);
        }
      }
      if (count === n) return;
      let best = -1;
      let least = Infinity;
      for (let e = 0; e < m; e++) {
        if (inside[src[e]!] === inside[dst[e]!]) continue;
        const s = this.slack(e);
        if (s < least) {
          least = s;
          best = e;
        }
      }
      if (best < 0) return;
      const shift = inside[src[best]!] ? least : -least;
      for (const v of members) rank[v]! += shift;
      // Only edges at the joint can have become tight; checking all is simple and fast enough.
      stack.push(inside[src[best]!] ? src[best]! : dst[best]!);
    }
  }

  /** Post-order numbers of the tree, from the root n-1. */
  private number(): void {
    const { n, src, dst, around, inTree, parentEdge, low, limit, order } = this;
    const m = src.length;
    const next = around.start.slice(0, n);
    parentEdge.fill(UNSEEN);
    low.fill(0);
    let counter = 1;
    const path = [n - 1];
    low[n - 1] = 1;
    while (path.length > 0) {
      const v = path[path.length - 1]!;
      let child = -1;
      while (next[v]! < around.start[v + 1]!) {
        const e = around.item[next[v]!++]! % m;
        if (!inTree[e] || e === parentEdge[v]) continue;
        const w = src[e] === v ? dst[e]! : src[e]!;
        if (low[w] !== 0) continue;
        parentEdge[w] = e;
        low[w] = counter;
        child = w;
        break;
      }
      if (child >= 0) path.push(child);
      else {
        order[counter - 1] = v;
        limit[v] = counter++;
        path.pop();
      }
    }
  }

  private inSubtree(v: number, top: number): boolean {
    return this.low[top]! <= this.limit[v]! && this.limit[v]! <= this.limit[top]!;
  }

  private cutValues(): void {
    const { n, src, dst, weight, around, inTree, parentEdge, order, cut } = this;
    const m = src.length;
    for (let i = 0; i < n - 1; i++) {
      const v = order[i]!;
      const tree = parentEdge[v]!;
      if (tree < 0) continue;
      const vIsTail = src[tree] === v;
      let value = weight[tree]!;
      for (let k = around.start[v]!; k < around.start[v + 1]!; k++) {
        const e = around.item[k]! % m;
        if (e === tree) continue;
        const outwards = src[e] === v;
        const along = outwards === vIsTail;
        value += along ? weight[e]! : -weight[e]!;
        const w = outwards ? dst[e]! : src[e]!;
        if (inTree[e] && parentEdge[w] === e) value += along ? -cut[e]! : cut[e]!;
      }
      cut[tree] = value;
    }
  }

  private leaving(from: number): number {
    const m = this.src.length;
    for (let i = 0; i < m; i++) {
      const e = (from + i) % m;
      if (this.inTree[e] && this.cut[e]! < 0) return e;
    }
    return -1;
  }

  private entering(leaving: number): number {
    const { src, dst } = this;
    const below = this.parentEdge[src[leaving]!] === leaving ? src[leaving]! : dst[leaving]!;
    const tailBelow = below === src[leaving];
    let best = -1;
    let least = Infinity;
    for (let e = 0; e < src.length; e++) {
      if (this.inTree[e]) continue;
      const tail = this.inSubtree(src[e]!, below);
      if (tail === this.inSubtree(dst[e]!, below) || tail === tailBelow) continue;
      const s = this.slack(e);
      if (s < least) {
        least = s;
        best = e;
      }
    }
    return best;
  }

  private exchange(leaving: number, entering: number): void {
    const { src, dst, rank } = this;
    const below = this.parentEdge[src[leaving]!] === leaving ? src[leaving]! : dst[leaving]!;
    const s = this.slack(entering);
    if (s > 0) {
      const shift = this.inSubtree(src[entering]!, below) ? s : -s;
      for (let v = 0; v < this.n; v++) if (this.inSubtree(v, below)) rank[v]! += shift;
    }
    this.inTree[leaving] = 0;
    this.inTree[entering] = 1;
  }
}
