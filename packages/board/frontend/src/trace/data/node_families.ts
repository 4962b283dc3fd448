/** The structure families of a run's graph, so that slices have the colours of the Graph page. */
import { signal } from '@preact/signals';
import { getColumns, getJson } from '../../api/client.ts';
import type { GraphHeader } from '../../graph/model/graph_model.ts';

export interface NodeFamily {
  id: number;
  hue: number;
  tone: number;
  title: string;
}

/** By node name; null until they are fetched. */
export const familyOfNode = signal<Map<string, NodeFamily> | null>(null);
let ofRun = -1;

/** Fetches the families of a run's graph, once; a run without a graph has none. */
export async function fetchFamilies(run: number): Promise<void> {
  if (ofRun === run) return;
  ofRun = run;
  familyOfNode.value = null;
  const found = new Map<string, NodeFamily>();
  try {
    const { graphs } = await getJson<{ graphs: { id: number; run: number; kind: string }[] }>('graphs');
    const mine = graphs.filter((graph) => graph.run === run && graph.kind !== 'run_metadata');
    const graph = mine.findLast((one) => one.kind === 'graph_def') ?? mine.at(-1);
    if (graph) {
      const [{ GraphModel }, bundle] = await Promise.all([
        import('../../graph/model/graph_model.ts'),
        getColumns<GraphHeader>(`graph/${graph.id}`),
      ]);
      const model = new GraphModel(bundle);
      for (let op = 0; op < model.ops; op++) {
        for (let v = op; v >= 0; v = model.parent[v]!) {
          const family = model.header.families[model.family[v]!];
          if (!family) continue;
          const { id, hue, tone, title } = family;
          found.set(model.path(op), { id, hue, tone, title });
          break;
        }
      }
    }
  } catch {
    // without a graph all slices are grey; the Graph page reports the failure
  }
  if (ofRun === run) familyOfNode.value = found;
}
