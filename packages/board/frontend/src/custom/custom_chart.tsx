/** One chart of a layout: lines of all tags that match, or lines between two bounds. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run, Tag } from '../api/types.ts';
import type { ChartView, Curve } from '../charts/chart_model.ts';
import { fitX, fitY } from '../charts/fit.ts';
import { LineChart } from '../charts/line_chart.tsx';
import { giveUp, type LoadedCurve, wishFor } from '../metrics/curve_loader.ts';
import { curveSettings, dressed, queryOf, setZoom, zoomOf } from '../metrics/scalar_query.ts';
import { ignoreOutliers, yScale } from '../metrics/view.ts';
import { runStyles } from '../runs/colours.ts';
import { seriesByRun } from '../runs/visible_runs.ts';
import { safeText } from '../shell/safe_text.ts';
import { runById, tags } from '../state/catalogue.ts';
import { themeVersion } from '../style/theme.ts';
import { type LayoutChart, matchedTags, valuesAt } from './layout.ts';

const MOST_TAGS = 15; // of a request: 16 queries
const PX_STEP = 64;

interface Props {
  id: string;
  chart: LayoutChart;
  runs: Run[];
  width: number;
  height: number;
}

export function CustomChart({ id, chart, runs, width, height }: Props) {
  const owner = useRef({}).current;
  const [loaded, setLoaded] = useState<LoadedCurve[][] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const scalars = tags.value.filter((tag) => tag.kind === 'scalar');
  const parts = useMemo(() => partsOf(chart, scalars), [JSON.stringify(chart), tags.value]);
  const settings = curveSettings();
  const zoom = zoomOf(id);
  const px = Math.max(PX_STEP, Math.ceil((width - 40) / PX_STEP) * PX_STEP);
  const shown = parts.slice(0, MOST_TAGS);
  const queries = shown.map((tag) =>
    queryOf({ tag, right: false }, runs, null, settings, zoom?.x ?? null, px),
  );
  const asked = JSON.stringify(queries);
  const grown = runs
    .flatMap((run) => shown.map((tag) => seriesByRun.value.get(run.id)?.get(tag.id)?.n ?? 0))
    .join();
  useEffect(() => {
    if (queries.length === 0 || runs.length === 0) {
      giveUp(owner);
      setLoaded([]);
      return;
    }
    wishFor(owner, queries, (curves, wrong) => {
      setError(wrong);
      if (curves) setLoaded(curves);
    });
  }, [asked, grown]);
  useEffect(() => () => giveUp(owner), [owner]);

  const curves = useMemo<Curve[]>(() => {
    if (!loaded) return [];
    const nameOf = (run: number) => runById.peek().get(run)?.name ?? '';
    const drawn = (tag: Tag, index: number) =>
      (loaded[shown.indexOf(tag)] ?? []).map((one) =>
        dressed(one, { tag, right: false }, index, null, nameOf),
      );
    if (!chart.margin) return shown.flatMap((tag, i) => drawn(tag, i));
    return chart.margin.series.flatMap((series, i) => {
      const named = (name: string) => shown.find((tag) => tag.name === name);
      const [value, lower, upper] = [named(series.value), named(series.lower), named(series.upper)];
      if (!value) return [];
      const bound = (tag: Tag | undefined, run: number | null, x: Float64Array) => {
        const found = tag && loaded[shown.indexOf(tag)]?.find((one) => one.run === run);
        return found ? valuesAt(found.x, found.y, x) : null;
      };
      return drawn(value, i).map((curve) => ({
        ...curve,
        lo: bound(lower, curve.run, curve.x),
        hi: bound(upper, curve.run, curve.x),
      }));
    });
  }, [loaded, runStyles.value, themeVersion.value, chart]);
  const scale = yScale.value;
  const outliers = ignoreOutliers.value;
  const view = useMemo<ChartView | null>(() => {
    const x = zoom?.x ?? fitX(curves, settings.log);
    if (!x) return null;
    return {
      x,
      y: zoom?.y ?? fitY(curves, x, scale, outliers) ?? [0, 1],
      right: null,
      xScale: settings.log ? 'log' : 'linear',
      yScale: scale,
      xUnit: settings.unit,
      xName: settings.name,
      marksClipped: outliers,
    };
  }, [curves, JSON.stringify(zoom), settings.log, settings.unit, settings.name, scale, outliers]);
  const title = safeText(chart.title || parts[0]?.name || 'chart', 120);
  return (
    <figure class="custom-chart" style={{ width: `${width}px` }}>
      <figcaption>
        {title}
        {parts.length > shown.length && (
          <span class="faint">
            {' '}
            {shown.length} of {parts.length} tags
          </span>
        )}
      </figcaption>
      {error ? (
        <p class="card-note" role="alert">
          {safeText(error, 300)}
        </p>
      ) : view && curves.length ? (
        <div class="custom-plot" style={{ height: `${height}px` }}>
          <LineChart
            id={id}
            title={title}
            curves={curves}
            view={view}
            axis={settings.axis}
            width={width}
            height={height}
            onZoom={(x, y) => setZoom(id, { x, y })}
            onReset={() => setZoom(id, null)}
          />
        </div>
      ) : (
        <p class="card-note" style={{ height: `${height - 48}px` }}>
          {loaded === null ? '' : 'No tag of the chosen runs fits this chart.'}
        </p>
      )}
    </figure>
  );
}

function partsOf(chart: LayoutChart, scalars: Tag[]): Tag[] {
  if (!chart.margin) return matchedTags(scalars, chart.multiline?.regexes ?? []);
  const wanted = new Set(chart.margin.series.flatMap((s) => [s.value, s.lower, s.upper]));
  return scalars.filter((tag) => wanted.has(tag.name));
}
