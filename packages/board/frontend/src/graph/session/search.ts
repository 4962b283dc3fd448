/** The search of a graph's ops and groups. */
import { startWorker } from '../../browser/workers.ts';
import { PatternSearch } from '../../search/pattern_search.ts';
import type { GraphModel } from '../model/graph_model.ts';
import type { GraphNames } from './search.worker.ts';
import type { Matches } from './search_order.ts';

export type GraphSearch = PatternSearch<GraphNames, Matches>;

export function graphSearch({ labels, parent, flags, root }: GraphModel): GraphSearch {
  return new PatternSearch<GraphNames, Matches>({ labels, parent, own: flags, root }, (failed) =>
    startWorker('search', failed),
  );
}
