/** A chart as a tikzpicture that pgfplots draws: lines, dashes, bands, raw data, both axes, every scale. */
import { ticksOf } from '../units/ticks.ts';
import {
  type ChartView,
  type Curve,
  mapping,
  type Numbers,
  type Span,
  SUPERSEDED,
  transform,
} from './chart_model.ts';
import { labelOf } from './export_chart.ts';
import type { ShownChart } from './shown_charts.ts';

const TICKS = 6;

/** TeX has control over none of these characters; what no font has becomes a question mark. */
export function latexText(text: string): string {
  const plain: Record<string, string> = {
    '\\': '\\textbackslash{}',
    '~': '\\textasciitilde{}',
    '^': '\\textasciicircum{}',
  };
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '?').replace(/[\\{}$&#^_%~]/g, (c) => plain[c] ?? `\\${c}`);
}

export function chartPgfplots(chart: ShownChart): string {
  const view = chart.view!;
  const colours = chart.curves.map((curve, i) => `\\definecolor{run${i}}{HTML}{${hexOf(curve.colour)}}`);
  const numbered = chart.curves.map((curve, i) => ({ curve, i }));
  const left = numbered.filter(({ curve }) => !curve.right);
  const right = numbered.filter(({ curve }) => curve.right);
  const axes = [axis(chart, view.y, left, false)];
  if (view.right && right.length > 0) axes.push(axis(chart, view.right, right, true));
  return [
    '% needs \\usepackage{pgfplots}',
    ...colours,
    '\\begin{tikzpicture}',
    ...axes,
    '\\end{tikzpicture}',
    '',
  ].join('\n');
}

type Numbered = { curve: Curve; i: number }[];

function axis(chart: ShownChart, y: Span, curves: Numbered, isRight: boolean): string {
  const view = chart.view!;
  const place = placer(view, y);
  const options = [
    ...(isRight
      ? ['axis y line*=right', 'axis x line=none', 'legend pos=outer north east']
      : [
          `title={${latexText(chart.title)}}`,
          `xlabel={${latexText(view.xName)}}`,
          'grid=major',
          `legend pos=${view.right ? 'north west' : 'outer north east'}`,
        ]),
    'legend cell align=left',
    `xmin=${view.x[0]}, xmax=${view.x[1]}, ymin=${place(y[0])}, ymax=${place(y[1])}`,
    ...(view.xScale === 'log' ? ['xmode=log'] : []),
    ...(view.yScale === 'log' ? ['ymode=log'] : []),
    ...(view.yScale === 'symlog' ? symlogTicks(y, place) : []),
  ];
  const plots = curves.flatMap(({ curve, i }) => plotsOf(chart, curve, i, place));
  return `\\begin{axis}[${options.join(',\n  ')}]\n${plots.join('\n')}\n\\end{axis}`;
}

/** pgfplots has no symmetric logarithm: values are placed here, and ticks say what they were. */
function placer(view: ChartView, y: Span): (value: number) => number {
  return view.yScale === 'symlog' ? transform('symlog', y).forth : (value) => value;
}

function symlogTicks(y: Span, place: (value: number) => number): string[] {
  const ticks = ticksOf(y[0], y[1], TICKS, 'symlog', 'number');
  const labels = ticks.labels.map((label) => `{$${label.replace(/\u2212/g, '-')}$}`);
  return [`ytick={${ticks.at.map(place).join(',')}}`, `yticklabels={${labels.join(',')}}`];
}

function plotsOf(chart: ShownChart, curve: Curve, i: number, place: (value: number) => number): string[] {
  const isOld = (k: number) => curve.flags !== null && (curve.flags[k]! & SUPERSEDED) !== 0;
  const table = (values: Numbers, old: boolean): string => {
    const rows: string[] = [];
    for (let k = 0; k < curve.x.length; k++) {
      if (isOld(k) !== old) continue;
      const value = place(values[k]!);
      rows.push(`${curve.x[k]} ${Number.isFinite(value) ? value : 'nan'}`);
    }
    return `table {\n${rows.join('\n')}\n}`;
  };
  const add = (style: string, body: string) =>
    `\\addplot[run${i}, no marks, unbounded coords=jump, ${style}] ${body}`;
  const plots = bandsOf(chart.view!, curve, place).map((band) =>
    add('draw=none, fill, fill opacity=0.16, forget plot', `${band} -- cycle;`),
  );
  if (curve.raw) plots.push(add('thin, opacity=0.28, forget plot', `${table(curve.raw, false)};`));
  if (curve.superseded > 0)
    plots.push(add('thin, opacity=0.4, dashed, forget plot', `${table(curve.raw ?? curve.y, true)};`));
  const dash =
    curve.dash.length > 0
      ? `, dash pattern=${curve.dash.map((length, k) => `${k % 2 === 0 ? 'on' : 'off'} ${length}pt`).join(' ')}`
      : '';
  plots.push(add(`thick${dash}`, `${table(curve.y, false)};`));
  plots.push(`\\addlegendentry{${latexText(labelOf(curve, chart))}}`);
  return plots;
}

/** The outlines of a band between its gaps. */
function bandsOf(view: ChartView, curve: Curve, place: (value: number) => number): string[] {
  const { x, lo, hi } = curve;
  if (!lo || !hi) return [];
  const scale = mapping(view.y, view.yScale);
  const isGap = (k: number) => !Number.isFinite(scale.to(lo[k]!)) || !Number.isFinite(scale.to(hi[k]!));
  const bands: string[] = [];
  let from = 0;
  for (let k = 0; k <= x.length; k++) {
    if (k < x.length && !isGap(k)) continue;
    if (k > from + 1) {
      const rows: string[] = [];
      for (let at = from; at < k; at++) rows.push(`${x[at]} ${place(hi[at]!)}`);
      for (let at = k - 1; at >= from; at--) rows.push(`${x[at]} ${place(lo[at]!)}`);
      bands.push(`table {\n${rows.join('\n')}\n}`);
    }
    from = k + 1;
  }
  return bands;
}

/** "#rrggbb" or "rgb(r, g, b)" as TeX has it; grey for what is neither. */
function hexOf(colour: string): string {
  const hex = /^#([0-9a-f]{6})$/i.exec(colour)?.[1];
  if (hex) return hex.toUpperCase();
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(colour);
  if (short)
    return short
      .slice(1)
      .map((digit) => digit + digit)
      .join('')
      .toUpperCase();
  const rgb = /^rgb\((\d+),? (\d+),? (\d+)\)$/.exec(colour);
  if (!rgb) return '444444';
  return rgb
    .slice(1)
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase();
}
