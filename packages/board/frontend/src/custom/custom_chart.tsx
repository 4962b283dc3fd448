/** One chart of a layout: lines of all tags that match, or lines between two bounds. */
import { useMemo } from 'preact/hooks';
import type { Run, Tag } from '../api/types.ts';
import type { Curve } from '../charts/chart_model.ts';
import { Menu } from '../controls/menu.tsx';
import { setZoom, styledCurves, zoomOf } from '../scalars/curves/scalar_query.ts';
import type { ShownCurves } from '../scalars/curves/use_curves.ts';
import { useScalarChart } from '../scalars/curves/use_scalar_chart.ts';
import { downloads } from '../scalars/downloads.ts';
import { ScalarPlot } from '../scalars/scalar_plot.tsx';
import { MOST_TAGS } from '../scalars/settings/chart_formula.ts';
import { scalarTags } from '../scalars/settings/custom_charts.ts';
import { safeText } from '../strings/safe_text.ts';
import { type LayoutChart, type MarginSeries, matchedTags, patternError, valuesAt } from './layout.ts';

interface Props {
  id: string;
  chart: LayoutChart;
  runs: Run[];
  width: number;
  height: number;
}

export function CustomChart({ id, chart, runs, width, height }: Props) {
  const key = JSON.stringify(chart);
  const tags = useMemo(() => matchingTags(chart, scalarTags.value), [key, scalarTags.value]);
  const parts = useMemo(
    () => tags.slice(0, MOST_TAGS).map((tag) => ({ tag, right: false })),
    [tags.map((tag) => tag.id).join()],
  );
  const series = chart.margin?.series;
  const finish = useMemo(
    () =>
      series &&
      ((shown: ShownCurves, nameOf: (run: number) => string) => marginCurves(series, shown, nameOf)),
    [key],
  );
  const tagNames = tags.length === 1 ? tags[0]!.name : chart.multiline?.regexes.join(', ');
  const title = chart.title || tagNames || 'chart';
  const drawn = useScalarChart({ id, title, parts, runs, width, ...(finish ? { finish } : {}) });
  const wrong = patternError(chart);
  const zoomed = zoomOf(id) !== null;
  return (
    <figure class="custom-chart" style={{ width: `${width}px` }}>
      <figcaption>
        <span class="grow">
          {safeText(title, 120)}
          {tags.length > parts.length && (
            <span class="faint">
              {' '}
              first {parts.length} of {tags.length} tags
            </span>
          )}
        </span>
        <Menu
          label={`Menu of ${safeText(title, 80)}`}
          items={[
            ...(zoomed ? [{ text: 'Fit to the data', run: () => setZoom(id, null) }, null] : []),
            ...downloads(drawn, parts),
          ]}
        />
      </figcaption>
      {wrong !== null && <p class="card-note">{safeText(wrong, 300)}</p>}
      <div class="scalar-plot" style={{ height: `${height}px` }}>
        {parts.length === 0 ? (
          <p class="tile-message">No tag matches this chart.</p>
        ) : (
          <ScalarPlot chart={drawn} width={width} height={height} />
        )}
      </div>
    </figure>
  );
}

function matchingTags(chart: LayoutChart, scalars: Tag[]): Tag[] {
  if (!chart.margin) return matchedTags(scalars, chart.multiline?.regexes ?? []);
  const names = new Set(chart.margin.series.flatMap((s) => [s.value, s.lower, s.upper]));
  return scalars.filter((tag) => names.has(tag.name));
}

/** The lines of the values, with the lines of their bounds as bands. */
function marginCurves(
  series: MarginSeries[],
  { lists, parts, groups }: ShownCurves,
  nameOf: (run: number) => string,
): Curve[] {
  const at = (name: string) => parts.findIndex((part) => part.tag.name === name);
  const found = series.filter((one) => at(one.value) >= 0);
  const values = found.map((one) => at(one.value));
  const loaded = values.map((i) => lists[i] ?? []);
  const curves = styledCurves({ lists: loaded, parts: values.map((i) => parts[i]!), groups }, nameOf);
  const places = loaded.flatMap((list, i) => list.map((one) => ({ one, series: found[i]! })));
  return curves.map((curve, i) => {
    const { one, series: of } = places[i]!;
    const bound = (name: string) => {
      const line = lists[at(name)]?.find((other) => other.run === one.run && other.group === one.group);
      return line ? valuesAt(line.x, line.y, curve.x) : null;
    };
    return { ...curve, lo: bound(of.lower), hi: bound(of.upper) };
  });
}
