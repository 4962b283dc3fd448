/** Random groups for tests and benchmarks of the layout. */
import type { LayeredGraph } from './layered_graph.ts';

export function random(seed: number): () => number {
  let state = seed * 2654435761 + 1;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0;
    const t = Math.imul(state ^ (state >>> 13), 3266489917);
    return ((t ^ (t >>> 16)) >>> 0) / 4294967296;
  };
}

/** Groups as training graphs have them: chains with branches, skips, shared readers, and some loops. */
export function group(seed: number, n: number, edges: number): LayeredGraph {
  const next = random(seed);
  const pairs = new Set<number>();
  const src: number[] = [];
  const dst: number[] = [];
  const add = (a: number, b: number) => {
    if (a === b || pairs.has(a * n + b) || pairs.has(b * n + a)) return;
    pairs.add(a * n + b);
    src.push(a);
    dst.push(b);
  };
  for (let v = 1; v < n; v++) if (next() < 0.93) add(Math.max(0, v - 1 - Math.floor(next() ** 2 * 6)), v);
  let tries = 0;
  while (src.length < edges && tries++ < 20 * edges) {
    const b = 1 + Math.floor(next() * (n - 1));
    const far = next() < 0.15;
    add(far ? Math.floor(next() * b) : Math.max(0, b - 1 - Math.floor(next() * 8)), b);
  }
  return { n, src: Int32Array.from(src), dst: Int32Array.from(dst) };
}
