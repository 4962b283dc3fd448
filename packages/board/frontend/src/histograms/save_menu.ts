/** The menu entries of a histogram card: files of the logged and of the drawn histograms, and pictures. */

import { apiUrl, getJson } from '../api/client.ts';
import type { Run, Tag } from '../api/types.ts';
import type { MenuItem } from '../controls/menu.tsx';
import { download, downloadCanvas, fileName } from '../picture/download.ts';
import type { Palette } from '../picture/palette.ts';
import { SvgSurface } from '../picture/surface.ts';
import { runTitle } from '../state/run_title.ts';
import { safeText } from '../strings/safe_text.ts';
import { draw } from './histogram_draw.ts';
import { bucketsCsv, type RawHistograms, rawBucketsCsv, tableJson } from './histogram_export.ts';
import type { Layer, Scene } from './histogram_scene.ts';

/**
 * Args:
 *   runs: the runs of the card; `layers` holds those whose histograms are here.
 *   canvas: finds the canvas of the card.
 */
export function saveMenu(
  tag: Tag,
  runs: Run[],
  layers: Layer[],
  scene: Scene,
  palette: Palette,
  cursor: number | null,
  canvas: () => HTMLCanvasElement,
): MenuItem[] {
  const file = (extension: string) => `${tag.name}.${extension}`;
  return [
    {
      text: 'Save all steps, buckets as logged',
      hint: 'csv',
      run: () => void rawCsv(tag.id, runs).then((csv) => download(file('csv'), csv, 'text/csv')),
    },
    ...runs.map((run) => ({
      text:
        runs.length > 1
          ? `Save all steps of ${safeText(runTitle(run.name), 60)}`
          : 'Save all steps, buckets as logged',
      hint: 'json',
      href: apiUrl('histograms/export.json', { run: run.id, tag: tag.id }),
      download: fileName(`${tag.name}_${runTitle(run.name)}.json`),
    })),
    {
      text: 'Save what is drawn as CSV',
      run: () => download(`${tag.name}_drawn.csv`, bucketsCsv(layers), 'text/csv'),
    },
    {
      text: 'Save what is drawn as JSON',
      run: () => download(`${tag.name}_drawn.json`, tableJson(tag.name, layers), 'application/json'),
    },
    {
      text: 'Save picture as SVG',
      run: () => {
        const svg = new SvgSurface(scene.width, scene.height);
        draw(svg, scene, palette, { hovered: null, cursor });
        download(file('svg'), String(svg), 'image/svg+xml');
      },
    },
    { text: 'Save picture as PNG', run: () => downloadCanvas(file('png'), canvas()) },
  ];
}

/** All histograms of some runs, with their buckets as logged. */
async function rawCsv(tag: number, runs: Run[]): Promise<string> {
  const found = await Promise.all(
    runs.map((run) => getJson<RawHistograms>('histograms/export.json', { run: run.id, tag })),
  );
  return rawBucketsCsv(found.map(({ rows }, i) => ({ run: runs[i]!.name, rows })));
}
