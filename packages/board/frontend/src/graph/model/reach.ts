/** The transitive inputs and outputs of nodes. */
import type { GraphModel } from './graph_model.ts';

export type Direction = 'inputs' | 'outputs' | 'both';

/** 1 for every op that is reached from the ops at or below `vertices`, and for those themselves. */
export function reach(model: GraphModel, vertices: readonly number[], direction: Direction): Uint8Array {
  const found = new Uint8Array(model.ops);
  const walk = (forwards: boolean) => {
    const seen = new Uint8Array(model.ops);
    const queue: number[] = [];
    for (const v of vertices) {
      for (const op of model.opsBelow(v)) {
        seen[op] = 1;
        queue.push(op);
      }
    }
    while (queue.length > 0) {
      const v = queue.pop()!;
      found[v] = 1;
      const start = forwards ? model.outStart : model.inStart;
      for (let k = start[v]!; k < start[v + 1]!; k++) {
        const w = forwards ? model.edgeDst[k]! : model.edgeSrc[model.inEdge[k]!]!;
        if (seen[w]) continue;
        seen[w] = 1;
        queue.push(w);
      }
    }
  };
  if (direction !== 'outputs') walk(false);
  if (direction !== 'inputs') walk(true);
  return found;
}

/** How many ops of each vertex are marked: sums up the tree. */
export function marksBelow(model: GraphModel, marked: Uint8Array): Int32Array {
  const sums = new Int32Array(model.total);
  for (let v = 0; v < model.ops; v++) {
    if (!marked[v]) continue;
    for (let at = v; at >= 0; at = model.parent[at]!) sums[at]!++;
  }
  return sums;
}

export interface Neighbour {
  vertex: number;
  port: number;
  control: boolean;
}

/** The ops that feed an op, in the order of its inputs, control inputs last. */
export function inputsOf(model: GraphModel, op: number): Neighbour[] {
  const found: Neighbour[] = [];
  for (let k = model.inStart[op]!; k < model.inStart[op + 1]!; k++) {
    const e = model.inEdge[k]!;
    const port = model.edgePort[e]!;
    found.push({ vertex: model.edgeSrc[e]!, port, control: port < 0 });
  }
  return found.sort((a, b) => Number(a.control) - Number(b.control));
}

export function outputsOf(model: GraphModel, op: number): Neighbour[] {
  const found: Neighbour[] = [];
  for (let e = model.outStart[op]!; e < model.outStart[op + 1]!; e++) {
    const port = model.edgePort[e]!;
    found.push({ vertex: model.edgeDst[e]!, port, control: port < 0 });
  }
  return found.sort((a, b) => Number(a.control) - Number(b.control) || a.port - b.port);
}
