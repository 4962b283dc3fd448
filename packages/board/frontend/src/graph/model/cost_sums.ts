/** The costs of groups: sums over their ops. */
import type { GraphModel } from './graph_model.ts';

export interface Costs {
  /** Sums by vertex, groups included; NaN where nothing ran. */
  total: Float64Array;
  /** The upper end of the colour scale. */
  most: number;
}

/** Sums by group; the colour's scale ends at the dearest op or closed group below the root. */
export function summed(model: GraphModel, value: ArrayLike<number>): Costs {
  const total = new Float64Array(model.total).fill(NaN);
  let most = 0;
  for (let v = 0; v < model.ops; v++) {
    const cost = v < value.length ? value[v]! : NaN;
    if (!(cost >= 0)) continue;
    for (let at = v; at >= 0; at = model.parent[at]!) {
      total[at] = Number.isNaN(total[at]!) ? cost : total[at]! + cost;
    }
  }
  for (const child of model.children(model.root)) if (total[child]! > most) most = total[child]!;
  return { total, most: most || 1 };
}
