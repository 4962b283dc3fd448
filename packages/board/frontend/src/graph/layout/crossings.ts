/** Counts the crossings of a layered graph with accumulator trees (Barth, Jünger and Mutzel 2002). */
import { groupBy, type OrderedLayers, type Rows } from './layered_graph.ts';

export class CrossingCounter {
  private readonly layered: OrderedLayers;
  /** Segments by the layer of their upper end. */
  private readonly byLayer: Rows;
  private readonly scratch: Int32Array;

  constructor(layered: OrderedLayers) {
    this.layered = layered;
    this.byLayer = groupBy(
      layered.segmentUpper.map((v) => layered.rank[v]!),
      layered.layers.length,
    );
    let widest = 1;
    for (const layer of layered.layers) widest = Math.max(widest, layer.length);
    this.scratch = new Int32Array(4 * widest + 4);
  }

  count(): number {
    const { layers, position, segmentUpper, segmentLower } = this.layered;
    let sum = 0;
    for (let r = 0; r + 1 < layers.length; r++) {
      const from = this.byLayer.start[r]!;
      const count = this.byLayer.start[r + 1]! - from;
      if (count < 2) continue;
      const width = layers[r + 1]!.length;
      const keys = new Float64Array(count);
      for (let i = 0; i < count; i++) {
        const s = this.byLayer.item[from + i]!;
        keys[i] = position[segmentUpper[s]!]! * width + position[segmentLower[s]!]!;
      }
      keys.sort();
      let base = 1;
      while (base < width) base *= 2;
      const tree = this.scratch;
      tree.fill(0, 0, 2 * base);
      for (let i = 0; i < count; i++) {
        let at = (keys[i]! % width) + base;
        tree[at]!++;
        while (at > 1) {
          if (at % 2 === 0) sum += tree[at + 1]!;
          at >>= 1;
          tree[at]!++;
        }
      }
    }
    return sum;
  }
}
