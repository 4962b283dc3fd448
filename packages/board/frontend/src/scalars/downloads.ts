/** What a chart can be saved as: all its points, or the picture. */

import { apiUrl } from '../api/client.ts';
import type { Run } from '../api/types.ts';
import { chartPng, chartSvg } from '../charts/export_chart.ts';
import { chartPgfplots } from '../charts/export_pgfplots.ts';
import { type ShownChart, shownChart } from '../charts/shown_charts.ts';
import type { MenuItem } from '../controls/menu.tsx';
import { download } from '../picture/download.ts';
import { runs as everyRun } from '../state/catalogue.ts';
import { stepFrom, stepTo } from '../state/selection.ts';
import { count } from '../units/numbers.ts';
import type { ScalarChart } from './curves/use_scalar_chart.ts';
import { type CurvePart, tagsOfPart } from './settings/curve_part.ts';
import { scalarTags } from './settings/custom_charts.ts';

const fileName = (name: string, ending: string): string =>
  `${name.replace(/[^\w.-]+/g, '_').slice(0, 80)}.${ending}`;

export interface StepSpan {
  lo: number | null;
  hi: number | null;
}

/** The steps that are selected on the charts; null: all. */
export const selectedSteps = (): StepSpan | null =>
  stepFrom.value === null && stepTo.value === null ? null : { lo: stepFrom.value, hi: stepTo.value };

export function stepsText({ lo, hi }: StepSpan): string {
  const text = (step: number | null) => (step === null ? '…' : count(step));
  return `steps ${text(lo)} to ${text(hi)}`;
}

/** The address of an export; tags and runs are named only where not all are exported. */
export function exportUrl(
  ending: 'csv' | 'json',
  tags: number[],
  runs: Run[],
  steps: StepSpan | null = null,
): string {
  const isAll = (some: number, all: number) => some >= all;
  return apiUrl(`export.${ending}`, {
    tags: isAll(tags.length, scalarTags.value.length) ? undefined : tags.join(),
    runs: isAll(runs.length, everyRun.value.length) ? undefined : runs.map((run) => run.id).join(),
    lo: steps?.lo,
    hi: steps?.hi,
  });
}

/** Items that save points: all of them, and of the selected steps where some are. */
export function pointDownloads(name: string, what: string, tags: number[], runs: Run[]): MenuItem[] {
  const steps = selectedSteps();
  const item = (ending: 'csv' | 'json', of: StepSpan | null): MenuItem => ({
    text: `${ending.toUpperCase()}, ${of ? stepsText(of) : what}`,
    href: exportUrl(ending, tags, runs, of),
    download: fileName(name, ending),
  });
  return [item('csv', null), item('json', null), ...(steps ? [item('csv', steps), item('json', steps)] : [])];
}

export function downloads({ id, title, runs }: ScalarChart, parts: CurvePart[]): MenuItem[] {
  const tags = [...new Set(parts.flatMap(tagsOfPart))];
  const picture = (text: string, save: (chart: ShownChart) => void): MenuItem => ({
    text,
    run: () => void inFull(id).then((chart) => chart && save(chart)),
  });
  return [
    ...pointDownloads(title, 'all points', tags, runs),
    picture('SVG', (chart) => download(fileName(title, 'svg'), chartSvg(chart), 'image/svg+xml')),
    picture('PNG', (chart) => {
      void chartPng(chart).then((blob) => blob && download(fileName(title, 'png'), blob));
    }),
    picture('LaTeX (pgfplots)', (chart) => download(fileName(title, 'tex'), chartPgfplots(chart))),
  ];
}

/** A chart in the document with as many points as the server gives. */
async function inFull(id: string): Promise<ShownChart | undefined> {
  const chart = shownChart(id);
  if (!chart?.inFull) return chart;
  try {
    return { ...chart, curves: await chart.inFull() };
  } catch (error) {
    alert(`The picture has only the points on the screen: ${error}`);
    return chart;
  }
}
