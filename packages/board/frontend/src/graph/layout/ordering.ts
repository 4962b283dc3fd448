/** Orders nodes within layers by barycentre sweeps and swaps of neighbours; keeps the fewest crossings. */
import { CrossingCounter } from './crossings.ts';
import { groupBy, type OrderedLayers, type Rows } from './layered_graph.ts';

const SWEEPS = 8;
const SMALL = 400; // up to this many nodes and dummies, more starts and sweeps are tried

/** Orders the layers in place; with a seed, known nodes keep their order from left to right. */
export function orderLayers(layered: OrderedLayers, seed: Float64Array | undefined): void {
  const ordering = new Ordering(layered);
  if (seed && hasKnown(seed)) {
    ordering.keepSeed(seed);
    ordering.centreTrunks();
    layered.crossings = ordering.crossings();
    return;
  }
  const small = layered.total <= SMALL;
  let best = snapshot(layered);
  let least = Infinity;
  for (const start of small ? [0, 1, 2, 3] : layered.total < 6000 ? [0, 1] : [0]) {
    ordering.start(start);
    let stale = 0;
    let now = ordering.crossings();
    let local = now;
    if (now < least) {
      least = now;
      best = snapshot(layered);
    }
    const sweeps = small ? 4 * SWEEPS : SWEEPS;
    for (let sweep = 0; sweep < sweeps && stale < (small ? 6 : 3) && least > 0; sweep++) {
      ordering.sweep(sweep % 2 === 0, sweep % 4 >= 2);
      if (layered.total < 30_000) ordering.swap(small ? 4 : 2);
      now = ordering.crossings();
      if (now < least) {
        least = now;
        best = snapshot(layered);
      }
      stale = now < local ? 0 : stale + 1;
      local = Math.min(local, now);
    }
    if (least === 0) break;
  }
  restore(layered, best);
  ordering.centreTrunks();
  layered.crossings = least;
}

function hasKnown(seed: Float64Array): boolean {
  return seed.some((s) => !Number.isNaN(s));
}

function snapshot(layered: OrderedLayers): Int32Array[] {
  return layered.layers.map((layer) => layer.slice());
}

function restore(layered: OrderedLayers, layers: Int32Array[]): void {
  layered.layers.forEach((layer, r) => {
    layer.set(layers[r]!);
    for (let i = 0; i < layer.length; i++) layered.position[layer[i]!] = i;
  });
}

class Ordering {
  private readonly layered: OrderedLayers;
  private readonly below: Rows;
  private readonly above: Rows;
  private readonly value: Float64Array;
  private readonly counter: CrossingCounter;

  constructor(layered: OrderedLayers) {
    this.layered = layered;
    this.below = groupBy(layered.segmentUpper, layered.total);
    this.above = groupBy(layered.segmentLower, layered.total);
    this.value = new Float64Array(layered.total);
    this.counter = new CrossingCounter(layered);
  }

  crossings(): number {
    return this.counter.count();
  }

  /** Sets a first order: that of a depth-first walk from above or below, forwards or backwards. */
  start(variant: number): void {
    const { layers, position, total, rank } = this.layered;
    const seen = new Uint8Array(total);
    const filled = new Int32Array(layers.length);
    const fromBelow = variant % 2 === 1;
    const against = variant >= 2;
    const roots = Array.from({ length: total }, (_, v) => v);
    const up = fromBelow ? -1 : 1;
    roots.sort((a, b) => up * (rank[a]! - rank[b]!) || (against ? b - a : a - b));
    const rows = fromBelow ? this.above : this.below;
    const ends = fromBelow ? this.layered.segmentUpper : this.layered.segmentLower;
    const back = fromBelow ? this.below : this.above;
    const backEnds = fromBelow ? this.layered.segmentLower : this.layered.segmentUpper;
    const stack: number[] = [];
    for (const root of roots) {
      if (seen[root]) continue;
      stack.push(root);
      while (stack.length > 0) {
        const v = stack.pop()!;
        if (seen[v]) continue;
        seen[v] = 1;
        const layer = layers[rank[v]!]!;
        position[v] = filled[rank[v]!]!;
        layer[filled[rank[v]!]!++] = v;
        // The last pushed is visited first: successors come before other predecessors.
        if (variant >= 2) push(stack, back, backEnds, v, seen, against);
        push(stack, rows, ends, v, seen, against);
      }
    }
  }

  /** Keeps known nodes in the order of their seed; places dummies and new nodes at their barycentre. */
  keepSeed(seed: Float64Array): void {
    const { layers, position, total, n } = this.layered;
    const place = new Float64Array(total).fill(NaN);
    for (let v = 0; v < n; v++) place[v] = seed[v]!;
    // Unknown places are averages of their neighbours, propagated for a few rounds.
    for (let round = 0; round < 6; round++) {
      let missing = false;
      for (let v = 0; v < total; v++) {
        if (v < n && !Number.isNaN(seed[v]!)) continue;
        let sum = 0;
        let count = 0;
        for (let k = this.below.start[v]!; k < this.below.start[v + 1]!; k++) {
          const p = place[this.layered.segmentLower[this.below.item[k]!]!]!;
          if (!Number.isNaN(p)) {
            sum += p;
            count++;
          }
        }
        for (let k = this.above.start[v]!; k < this.above.start[v + 1]!; k++) {
          const p = place[this.layered.segmentUpper[this.above.item[k]!]!]!;
          if (!Number.isNaN(p)) {
            sum += p;
            count++;
          }
        }
        if (count > 0) place[v] = sum / count;
        else missing = true;
      }
      if (!missing && round >= 2) break;
    }
    for (const layer of layers) {
      const sorted = Array.from(layer);
      const key = (v: number) => (Number.isNaN(place[v]!) ? 1e9 : place[v]!);
      sorted.sort((a, b) => key(a) - key(b) || a - b);
      for (let i = 0; i < sorted.length; i++) {
        layer[i] = sorted[i]!;
        position[sorted[i]!] = i;
      }
    }
    const known = new Uint8Array(total);
    for (let v = 0; v < n; v++) if (!Number.isNaN(seed[v]!)) known[v] = 1;
    this.swap(6, known);
  }

  sweep(down: boolean, rightFirst: boolean): void {
    const { layers, position, segmentUpper, segmentLower, segmentWeight } = this.layered;
    const rows = down ? this.above : this.below;
    const ends = down ? segmentUpper : segmentLower;
    const first = down ? 1 : layers.length - 2;
    const step = down ? 1 : -1;
    for (let r = first; r >= 0 && r < layers.length; r += step) {
      const layer = layers[r]!;
      const fixed: number[] = [];
      const moving: number[] = [];
      for (let i = 0; i < layer.length; i++) {
        const v = layer[i]!;
        let sum = 0;
        let weights = 0;
        for (let k = rows.start[v]!; k < rows.start[v + 1]!; k++) {
          const s = rows.item[k]!;
          sum += segmentWeight[s]! * position[ends[s]!]!;
          weights += segmentWeight[s]!;
        }
        if (weights > 0) {
          this.value[v] = sum / weights;
          moving.push(v);
        } else fixed.push(v);
      }
      const { value } = this;
      const tie = rightFirst ? -1 : 1;
      moving.sort((a, b) => value[a]! - value[b]! || tie * (position[a]! - position[b]!));
      // Nodes without neighbours on that side keep their place in the layer.
      if (fixed.length > 0) {
        const stay = new Set(fixed.map((v) => position[v]!));
        const merged: number[] = [];
        let next = 0;
        let keep = 0;
        for (let i = 0; i < layer.length; i++) merged.push(stay.has(i) ? fixed[keep++]! : moving[next++]!);
        for (let i = 0; i < layer.length; i++) layer[i] = merged[i]!;
      } else for (let i = 0; i < layer.length; i++) layer[i] = moving[i]!;
      for (let i = 0; i < layer.length; i++) position[layer[i]!] = i;
    }
  }

  /** Swaps neighbours in a layer while that removes crossings; two known nodes never swap. */
  swap(rounds: number, known?: Uint8Array): void {
    const { layers, position } = this.layered;
    for (let round = 0; round < rounds; round++) {
      let better = false;
      for (const layer of layers) {
        for (let i = 0; i + 1 < layer.length; i++) {
          const a = layer[i]!;
          const b = layer[i + 1]!;
          if (known?.[a] && known[b]) continue;
          if (this.gain(a, b) <= 0) continue;
          layer[i] = b;
          layer[i + 1] = a;
          position[b] = i;
          position[a] = i + 1;
          better = true;
        }
      }
      if (!better) return;
    }
  }

  /** Moves dummies to the middle of their layer where that adds no crossing, so that trunks have leaves on both sides. */
  centreTrunks(): void {
    const { layers, position, n } = this.layered;
    for (const layer of layers) {
      const middle = (layer.length - 1) / 2;
      const dummies = layer.filter((v) => v >= n);
      if (dummies.length === 0 || dummies.length > 8) continue;
      for (const v of dummies) {
        for (;;) {
          const i = position[v]!;
          const k = i < middle - 0.5 ? i + 1 : i > middle + 0.5 ? i - 1 : -1;
          if (k < 0) break;
          const w = layer[k]!;
          if (w >= n || (k > i ? this.gain(v, w) : this.gain(w, v)) < 0) break;
          layer[i] = w;
          layer[k] = v;
          position[w] = i;
          position[v] = k;
        }
      }
    }
  }

  /** How many crossings disappear when a, just left of b, moves to its right. */
  private gain(a: number, b: number): number {
    const { segmentUpper, segmentLower, position } = this.layered;
    return (
      gainAt(this.above, segmentUpper, position, a, b) + gainAt(this.below, segmentLower, position, a, b)
    );
  }
}

function gainAt(rows: Rows, ends: Int32Array, position: Int32Array, a: number, b: number): number {
  let gain = 0;
  for (let i = rows.start[a]!; i < rows.start[a + 1]!; i++) {
    const p = position[ends[rows.item[i]!]!]!;
    for (let k = rows.start[b]!; k < rows.start[b + 1]!; k++) {
      const q = position[ends[rows.item[k]!]!]!;
      if (p > q) gain++;
      else if (p < q) gain--;
    }
  }
  return gain;
}

function push(
  stack: number[],
  rows: Rows,
  ends: Int32Array,
  v: number,
  seen: Uint8Array,
  against: boolean,
): void {
  const count = rows.start[v + 1]! - rows.start[v]!;
  for (let i = 0; i < count; i++) {
    const k = rows.start[v]! + (against ? i : count - 1 - i);
    const w = ends[rows.item[k]!]!;
    if (!seen[w]) stack.push(w);
  }
}
