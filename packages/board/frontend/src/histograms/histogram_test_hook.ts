/** window.__board.histograms: what each histogram card draws. */
import { expose } from '../testing/test_hook.ts';
import type { Bucket, Scene } from './histogram_scene.ts';

interface Drawn {
  scene: Scene;
  hovered: Bucket | null;
}
const cards = new Map<string, { tag: string; read: () => Drawn }>();

/** Adds a card. Returns: a function that removes it. */
export function exposeScene(id: string, tag: string, read: () => Drawn): () => void {
  const entry = { tag, read };
  cards.set(id, entry);
  return () => {
    if (cards.get(id) === entry) cards.delete(id);
  };
}

expose('histograms', () =>
  [...cards].map(([id, { tag, read }]) => {
    const { scene, hovered } = read();
    return {
      id,
      tag,
      mode: scene.view.mode,
      axis: scene.view.axis,
      log: scene.view.logCounts,
      peak: scene.peak,
      range: [scene.lo, scene.hi],
      span: [scene.from, scene.to],
      hovered,
      facets: scene.facets.map(({ title, box, layers }) => ({
        title,
        box,
        layers: layers.map(({ run, name, colour, table }) => ({
          run,
          name,
          colour,
          steps: [...table.steps],
          edges: [...table.edges],
          counts: [...table.counts],
          percentiles: [...table.percentiles],
          total: table.total,
        })),
      })),
    };
  }),
);
