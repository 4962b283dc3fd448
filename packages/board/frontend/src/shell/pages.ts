/** The pages of the board, in the order of their tabs. A page's code is fetched when it is first shown. */
import type { ComponentType } from 'preact';

export interface Page {
  id: string;
  title: string;
  /** Whether the table of runs is beside it, and the step cursor below. */
  runs?: boolean;
  cursor?: boolean;
  load: () => Promise<{ default: ComponentType }>;
}

export const pages: Page[] = [
  {
    id: 'metrics',
    title: 'Metrics',
    runs: true,
    cursor: true,
    load: () => import('../metrics/metrics_page.tsx'),
  },
  { id: 'graph', title: 'Graph', load: () => import('../graph/graph_page.tsx') },
  { id: 'trace', title: 'Trace', cursor: true, load: () => import('../trace/trace_page.tsx') },
  { id: 'hparams', title: 'HParams', runs: true, load: () => import('../hparams/hparams_page.tsx') },
  { id: 'projector', title: 'Projector', load: () => import('../projector/projector_page.tsx') },
  { id: 'problems', title: 'Problems', load: () => import('../problems/problems_page.tsx') },
];
