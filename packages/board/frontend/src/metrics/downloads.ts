/** Everything that a chart can be saved as: all its points, or the picture. */

import { apiUrl } from '../api/client.ts';
import type { Run } from '../api/types.ts';
import { chartPgfplots, chartPng, chartSvg } from '../charts/export_chart.ts';
import { shownChart } from '../charts/shown_charts.ts';
import type { MenuItem } from '../shell/menu.tsx';
import type { CardSpec } from './cards.ts';
import type { MadeOf } from './scalar_query.ts';

const fileName = (name: string, ending: string): string =>
  `${name.replace(/[^\w.-]+/g, '_').slice(0, 80)}.${ending}`;

export function saveFile(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function exportUrl(ending: 'csv' | 'json', tags: number[], runs: Run[]): string {
  return apiUrl(`export.${ending}`, { tags: tags.join(), runs: runs.map((run) => run.id).join() });
}

export function downloads(card: CardSpec, runs: Run[], parts: MadeOf[]): MenuItem[] {
  const ids = [
    ...new Set(parts.flatMap((p) => (p.expression ? Object.values(p.expression.variables) : [p.tag.id]))),
  ];
  const name = card.tag.name;
  const chart = () => shownChart(card.id);
  return [
    { text: 'CSV, all points', href: exportUrl('csv', ids, runs), download: fileName(name, 'csv') },
    { text: 'JSON, all points', href: exportUrl('json', ids, runs), download: fileName(name, 'json') },
    {
      text: 'SVG',
      run: () => {
        const shown = chart();
        if (shown) saveFile(fileName(name, 'svg'), [chartSvg(shown)], 'image/svg+xml');
      },
    },
    {
      text: 'PNG',
      run: () => {
        const shown = chart();
        if (shown)
          void chartPng(shown).then((blob) => blob && saveFile(fileName(name, 'png'), [blob], 'image/png'));
      },
    },
    {
      text: 'LaTeX (pgfplots)',
      run: () => {
        const shown = chart();
        if (shown) saveFile(fileName(name, 'tex'), [chartPgfplots(shown)], 'text/plain');
      },
    },
  ];
}
