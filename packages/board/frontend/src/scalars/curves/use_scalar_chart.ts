/** The data of a chart of scalars: its curves with the page's settings, and the ranges of its axes. */

import { useMemo } from 'preact/hooks';
import type { Run } from '../../api/types.ts';
import { type ChartView, type Curve, SUPERSEDED } from '../../charts/chart_model.ts';
import { runStyles } from '../../runs/colours.ts';
import { runById } from '../../state/catalogue.ts';
import { runTitle } from '../../state/run_title.ts';
import { themeVersion } from '../../style/theme.ts';
import { styleOfCard } from '../settings/card_style.ts';
import { groupBand, ignoreOutliers, type Scale, yScale } from '../settings/chart_settings.ts';
import type { CurvePart } from '../settings/curve_part.ts';
import { chartView } from './chart_view.ts';
import { fetchCurves, MOST_QUERIES } from './curve_loader.ts';
import {
  type CurveSettings,
  curveSettings,
  drawnRuns,
  groupsOfRuns,
  queryOf,
  styledCurves,
  zoomOf,
} from './scalar_query.ts';
import { type CurvesState, type ShownCurves, useCurves } from './use_curves.ts';

const PX_STEP = 64;
/** Of a picture in full: what the server gives at most. */
const MOST_PX = 8192;
/** Pixels of all curves together: the server sends 4 points a pixel, and 5 million at most. */
const MOST_PIXELS = 1_000_000;

export interface ScalarChart extends CurvesState {
  id: string;
  title: string;
  curves: Curve[];
  view: ChartView | null;
  /** With which the curves were fetched. */
  settings: CurveSettings;
  scale: Scale;
  /** Runs whose curves are drawn, and all that have the tag. */
  drawn: Run[];
  runs: Run[];
  /** Values, of the points that are drawn, that a logarithmic axis cannot show. */
  notPositive: number;
  /** The curves with as many points as the server gives. */
  inFull(): Promise<Curve[]>;
}

export interface ScalarChartProps {
  id: string;
  title: string;
  parts: CurvePart[];
  runs: Run[];
  width: number;
  /** Makes the curves out of what was loaded; else each loaded curve is one. */
  finish?: (shown: ShownCurves, nameOf: (run: number) => string) => Curve[];
}

export function useScalarChart({ id, title, parts, runs, width, finish }: ScalarChartProps): ScalarChart {
  const style = styleOfCard(id);
  const zoom = zoomOf(id);
  const drawn = drawnRuns(runs, parts.length);
  const requested = curveSettings(style.smooth);
  const groups = groupsOfRuns(drawn);
  const queriesAt = (px: number) =>
    parts.map((part) => queryOf(part, drawn, groups, requested, zoom?.x ?? null, px));
  const px = Math.max(PX_STEP, Math.ceil((width - 40) / PX_STEP) * PX_STEP);
  const request = { parts, groups, settings: requested, queries: queriesAt(px) };
  const state = useCurves(request, drawn);

  const { shown } = state;
  const looks = [runStyles.value, themeVersion.value, groupBand.value];
  const curvesOf = (of: ShownCurves): Curve[] => {
    const nameOf = (run: number) => runTitle(runById.peek().get(run)?.name ?? '');
    return finish ? finish(of, nameOf) : styledCurves(of, nameOf);
  };
  const curves = useMemo(() => (shown ? curvesOf(shown) : []), [shown, finish, ...looks]);
  const settings = shown?.settings ?? requested;
  const scale = style.y ?? yScale.value;
  const outliers = style.out ?? ignoreOutliers.value;
  const view = useMemo(
    () => chartView(curves, settings, zoom, scale, outliers, style),
    [curves, settings, JSON.stringify([zoom, style]), scale, outliers],
  );
  const notPositive = useMemo(() => (scale === 'log' ? countNotPositive(curves) : 0), [curves, scale]);
  const inFull = async () => {
    const lines = Math.max(1, (groups ?? drawn).length * Math.min(MOST_QUERIES, parts.length));
    const wide = Math.max(px, Math.min(MOST_PX, Math.floor(MOST_PIXELS / lines)));
    return curvesOf({ ...request, lists: await fetchCurves(queriesAt(wide)) });
  };
  return { ...state, id, title, curves, view, settings, scale, drawn, runs, notPositive, inFull };
}

function countNotPositive(curves: Curve[]): number {
  let count = 0;
  for (const { y, flags } of curves) {
    for (let i = 0; i < y.length; i++) {
      if (y[i]! <= 0 && Number.isFinite(y[i]!) && !(flags && flags[i]! & SUPERSEDED)) count++;
    }
  }
  return count;
}
