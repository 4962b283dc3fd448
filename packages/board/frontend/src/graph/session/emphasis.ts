/** The emphasis for a selection: its edges, or its transitive inputs or outputs. */

import type { Emphasis } from '../drawing/surface.ts';
import type { GraphModel } from '../model/graph_model.ts';
import { type Direction, marksBelow, reach } from '../model/reach.ts';
import { verticesOf } from '../model/view_state.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import { FROM_PORT, TO_PORT } from '../scene/scene.ts';

export const ALL_ALIKE: Emphasis = { lit: null, bright: null };

export function emphasisOf(
  model: GraphModel,
  indexed: IndexedScene,
  selected: number,
  direction: Direction | 'none',
): Emphasis {
  const bright = new Set<number>();
  if (direction === 'none') {
    brightAround(indexed, selected, bright);
    return { lit: null, bright: bright.size > 0 ? bright : null };
  }
  const s = indexed.scene;
  const vertices = verticesOf(model, indexed.pulled, selected);
  const sums = marksBelow(model, reach(model, vertices, direction));
  const sumOf = (item: number) =>
    item < 0 ? 1 : verticesOf(model, indexed.pulled, item).reduce((a, v) => a + sums[v]!, 0);
  const lit = Uint8Array.from(s.item, (item) => (sumOf(item) > 0 ? 1 : 0));
  for (let e = 0; e < s.from.length; e++) {
    if (sumOf(s.from[e]!) > 0 && sumOf(s.to[e]!) > 0) bright.add(e);
  }
  return { lit, bright };
}

/** The edges at an item, and their pieces beyond the borders that they cross. */
function brightAround(indexed: IndexedScene, item: number, bright: Set<number>): void {
  const s = indexed.scene;
  const at = indexed.indexOf.get(item);
  if (at === undefined) return;
  // Edge pieces by their group, to follow an edge outwards.
  const inner = s.parent[at]!;
  const crossing: { key: number; outgoing: boolean }[] = [];
  for (let e = 0; e < s.from.length; e++) {
    if (s.edgeGroup[e] !== inner) continue;
    if (s.from[e] === item) {
      bright.add(e);
      if (s.edgeFlags[e]! & TO_PORT) crossing.push({ key: s.to[e]!, outgoing: true });
    } else if (s.to[e] === item) {
      bright.add(e);
      if (s.edgeFlags[e]! & FROM_PORT) crossing.push({ key: s.from[e]!, outgoing: false });
    }
  }
  let group = inner;
  while (group >= 0 && crossing.length > 0) {
    const outer = s.parent[group]!;
    const groupItem = s.item[group]!;
    const outgoing = new Set(crossing.filter((c) => c.outgoing).map((c) => c.key));
    const incoming = new Set(crossing.filter((c) => !c.outgoing).map((c) => c.key));
    for (let e = 0; e < s.from.length; e++) {
      if (s.edgeGroup[e] !== outer) continue;
      if (s.from[e] === groupItem && outgoing.has(s.to[e]!)) bright.add(e);
      else if (s.to[e] === groupItem && incoming.has(s.from[e]!)) bright.add(e);
    }
    group = outer;
  }
}
