// layout: prints how long the layout of one large group takes. Run with the node that builds the front end:
//   node packages/board/benchmarks/graph_layout.ts
import { arrange, place } from '../frontend/src/graph/layout/layout_group.ts';
import { group } from '../frontend/src/graph/layout/sample_group.ts';

for (const [nodes, edges] of [
  [330, 970],
  [1000, 1500],
  [3000, 4500],
] as const) {
  const graph = group(5, nodes, edges);
  const width = new Float64Array(nodes).fill(100);
  const height = new Float64Array(nodes).fill(30);
  const took: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const start = performance.now();
    place(arrange(graph, Number.POSITIVE_INFINITY), { width, height });
    took.push(performance.now() - start);
  }
  const best = Math.min(...took).toFixed(0);
  console.log(`layout ${nodes} nodes, ${graph.src.length} edges: best ${best} ms (${took.map((t) => t.toFixed(0)).join(', ')})`);
}
