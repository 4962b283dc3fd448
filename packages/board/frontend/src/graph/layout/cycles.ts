/** Finds a set of edges whose reversal leaves no cycle. */
import { groupBy } from './layered_graph.ts';

/**
 * Marks the edges that lead back on a depth-first walk. The walk starts at the sources, in order, so
 * that a loop is entered where data enters it and its NextIteration edge is the one that turns.
 */
export function edgesToReverse(
  n: number,
  src: Int32Array,
  dst: Int32Array,
  back: Uint8Array | undefined,
): Uint8Array {
  const reversed = new Uint8Array(src.length);
  const out = groupBy(src, n);
  const indegree = new Int32Array(n);
  for (let e = 0; e < src.length; e++) {
    if (back?.[e]) reversed[e] = 1;
    else if (src[e] !== dst[e]) indegree[dst[e]!]!++;
  }
  const state = new Uint8Array(n); // 0 not seen, 1 on the path, 2 done
  const next = out.start.slice(0, n);
  const path: number[] = [];
  const walk = (root: number) => {
    path.push(root);
    state[root] = 1;
    while (path.length > 0) {
      const v = path[path.length - 1]!;
      if (next[v]! < out.start[v + 1]!) {
        const e = out.item[next[v]!++]!;
        const w = dst[e]!;
        if (reversed[e] || w === v) continue;
        if (state[w] === 1) reversed[e] = 1;
        else if (state[w] === 0) {
          state[w] = 1;
          path.push(w);
        }
      } else {
        state[v] = 2;
        path.pop();
      }
    }
  };
  for (let v = 0; v < n; v++) if (indegree[v] === 0 && state[v] === 0) walk(v);
  for (let v = 0; v < n; v++) if (state[v] === 0) walk(v);
  // Marked edges that came first may now close a cycle the other way round; a second look settles it.
  if (back) settle(n, src, dst, reversed);
  return reversed;
}

function settle(n: number, src: Int32Array, dst: Int32Array, reversed: Uint8Array): void {
  const from = src.map((s, e) => (reversed[e] ? dst[e]! : s));
  const to = dst.map((d, e) => (reversed[e] ? src[e]! : d));
  const again = edgesToReverse(n, from, to, undefined);
  for (let e = 0; e < src.length; e++) if (again[e]) reversed[e] = reversed[e] ? 0 : 1;
}
