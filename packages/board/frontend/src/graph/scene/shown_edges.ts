/** The edges of a scene from shown item to shown item, whatever borders they cross. */
import type { GraphModel } from '../model/graph_model.ts';
import { itemOf, type ViewState } from '../model/view_state.ts';
import { AUXILIARY, OPENED, type Scene } from './scene.ts';

export interface ShownEdge {
  /** Indices of items in the scene. */
  from: number;
  to: number;
  data: number;
  control: number;
}

/** The closed item of the scene that shows each op; -1: hidden, or among auxiliary nodes. */
export function shownBy(model: GraphModel, view: ViewState, scene: Scene): Int32Array {
  const index = new Map<number, number>();
  scene.item.forEach((item, i) => {
    index.set(item, i);
  });
  const found = new Int32Array(model.total).fill(-1);
  // In the order of the walk, a group comes before its content.
  for (const v of model.walk) {
    if (v === model.root) continue;
    const up = model.parent[v]!;
    const above = up === model.root ? -1 : found[up]!;
    if (up !== model.root && (above < 0 || scene.kind[above] !== OPENED)) found[v] = above;
    else found[v] = index.get(itemOf(model, view, v)) ?? -1;
    if (v < model.ops && view.hidden.has(model.op[v]!)) found[v] = -1;
  }
  return found;
}

/** Edges between shown items; those at auxiliary nodes are left out, as in the picture. */
export function shownEdges(model: GraphModel, view: ViewState, scene: Scene): ShownEdge[] {
  const by = shownBy(model, view, scene);
  const aside = new Uint8Array(scene.item.length);
  for (let i = 0; i < aside.length; i++) {
    const up = scene.parent[i]!;
    aside[i] = (scene.flags[i]! & AUXILIARY) !== 0 || (up >= 0 && aside[up] === 1) ? 1 : 0;
  }
  const edges = new Map<number, ShownEdge>();
  const n = scene.item.length;
  for (let e = 0; e < model.edgeSrc.length; e++) {
    const from = by[model.edgeSrc[e]!]!;
    const to = by[model.edgeDst[e]!]!;
    if (from < 0 || to < 0 || from === to || aside[from] || aside[to]) continue;
    const key = from * n + to;
    let edge = edges.get(key);
    if (!edge) {
      edge = { from, to, data: 0, control: 0 };
      edges.set(key, edge);
    }
    if (model.edgePort[e]! < 0) edge.control++;
    else edge.data++;
  }
  return [...edges.values()];
}
