/** window.__board.histograms: what each histogram card draws. */
import type { Bucket, Scene } from './histogram_scene.ts';

export function describeHistogram(id: string, tag: string, scene: Scene, hovered: Bucket | null): unknown {
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
}
