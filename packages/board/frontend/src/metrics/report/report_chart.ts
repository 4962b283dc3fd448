/** A card of scalars in a report: its curves as SVG, and the values of its runs. */
import type { Run } from '../../api/types.ts';
import type { CardSpec } from '../../cards/card.ts';
import type { Curve } from '../../charts/chart_model.ts';
import { labelOf } from '../../charts/export_chart.ts';
import { plotSvg } from '../../charts/plot_svg.ts';
import { chartView } from '../../scalars/curves/chart_view.ts';
import { fetchCurves, type LoadedCurve } from '../../scalars/curves/curve_loader.ts';
import {
  curveSettings,
  drawnRuns,
  groupsOfRuns,
  queryOf,
  styledCurves,
  zoomOf,
} from '../../scalars/curves/scalar_query.ts';
import { type StepSpan, selectedSteps, stepsText } from '../../scalars/downloads.ts';
import { rangeQueries } from '../../scalars/range_queries.ts';
import { rangeValues } from '../../scalars/range_values.ts';
import { partsOfCard } from '../../scalars/settings/card_parts.ts';
import { styleOfCard } from '../../scalars/settings/card_style.ts';
import { ignoreOutliers, yScale } from '../../scalars/settings/chart_settings.ts';
import type { CurvePart } from '../../scalars/settings/curve_part.ts';
import { runById } from '../../state/catalogue.ts';
import { runTitle } from '../../state/run_title.ts';
import { count } from '../../units/numbers.ts';
import { MOST_POINTS, MOST_ROWS } from './limits.ts';
import type { ChartContent, ValueRow } from './report.ts';
import type { ReportColours } from './report_colours.ts';

const SIZE = { width: 440, height: 210 };
const LEAST_PX = 32;
/** Points that the server sends for a pixel at most. */
const POINTS_OF_PX = 4;

const nameOfRun = (run: number): string => runTitle(runById.peek().get(run)?.name ?? '');

/** Fetches and draws a card; `number` is its place in the report. */
export async function reportChart(
  card: CardSpec,
  runs: Run[],
  colours: ReportColours,
  number: number,
): Promise<{ content: ChartContent; notes: string[] }> {
  const parts = partsOfCard(card);
  const drawn = drawnRuns(runs, parts.length);
  const style = styleOfCard(card.id);
  const settings = curveSettings(style.smooth);
  const groups = groupsOfRuns(drawn);
  const zoom = zoomOf(card.id);
  const steps = selectedSteps();
  const lines = Math.max(1, (groups ?? drawn).length * parts.length);
  const px = Math.max(LEAST_PX, Math.min(SIZE.width, Math.floor(MOST_POINTS / POINTS_OF_PX / lines)));
  const queries = parts.map((part) => queryOf(part, drawn, groups, settings, zoom?.x ?? null, px));
  const [lists, ranges] =
    drawn.length === 0
      ? [[], []]
      : await Promise.all([fetchCurves(queries), fetchCurves(rangeQueries(parts, drawn, steps))]);
  const curves = styledCurves({ lists, parts, groups }, nameOfRun);
  const view = chartView(
    curves,
    settings,
    zoom,
    style.y ?? yScale.peek(),
    style.out ?? ignoreOutliers.peek(),
    style,
  );
  const themed = curves.map((curve) => ({ ...curve, colour: colours.inBothThemes(curve.colour) }));
  const named = valueRows(ranges, parts, steps, curves, colours);
  const isNamed = curves.every((curve) => curve.run !== null);
  const notes = [
    drawn.length < runs.length ? `the first ${count(drawn.length)} of ${count(runs.length)} runs` : '',
    zoom ? 'zoomed: the table has all steps' : '',
    named.length > MOST_ROWS ? `the table has ${count(MOST_ROWS)} of ${count(named.length)} rows` : '',
  ].filter(Boolean);
  const shown = { id: card.id, title: '', curves, view, axes: null, ...SIZE, inFull: null };
  return {
    content: {
      kind: 'chart',
      svg: view && curves.length > 0 ? plotSvg(themed, view, SIZE, colours.chart, `card${number}-`) : null,
      legend: isNamed
        ? []
        : themed.slice(0, MOST_ROWS).map((curve, i) => ({
            name: labelOf(curves[i]!, shown),
            colour: curve.colour,
            dash: curve.dash,
          })),
      values: named.slice(0, MOST_ROWS),
      steps: steps ? stepsText(steps) : 'all steps',
    },
    notes,
  };
}

/** The values of each run and tag, in the colour of their curve where they have one. */
function valueRows(
  ranges: LoadedCurve[][],
  parts: CurvePart[],
  steps: StepSpan | null,
  curves: Curve[],
  colours: ReportColours,
): ValueRow[] {
  const drawn = new Map(curves.map((curve) => [`${curve.tag}\n${curve.run}`, curve]));
  return ranges.flatMap((list, i) =>
    list.flatMap((loaded): ValueRow[] => {
      const part = parts[i];
      const values = rangeValues(loaded, steps?.lo ?? null, steps?.hi ?? null);
      if (!part || !values || loaded.run === null) return [];
      const curve = drawn.get(`${part.tag.name}\n${loaded.run}`);
      const run = nameOfRun(loaded.run);
      const name = parts.length > 1 ? `${run} ${part.tag.name}` : run;
      return [
        {
          name,
          line: curve ? { name, colour: colours.inBothThemes(curve.colour), dash: curve.dash } : null,
          last: values.end,
          at: values.to,
          min: values.min,
          max: values.max,
        },
      ];
    }),
  );
}
