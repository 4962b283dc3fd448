/** A chart of scalars: the curves of one tag, or of several, in all visible runs. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ChartView, Curve, Span } from '../charts/chart_model.ts';
import { fitX, fitY } from '../charts/fit.ts';
import { LineChart } from '../charts/line_chart.tsx';
import { shortNumber } from '../charts/ticks.ts';
import { runStyles } from '../runs/colours.ts';
import { MOST_DRAWN, seriesByRun } from '../runs/visible_runs.ts';
import { runById } from '../state/catalogue.ts';
import { stepCursor } from '../state/selection.ts';
import { themeVersion } from '../style/theme.ts';
import { useCardFrame } from './card_frame.tsx';
import type { CardProps } from './cards.ts';
import { type CurveQuery, giveUp, type LoadedCurve, wishFor } from './curve_loader.ts';
import { downloads } from './downloads.ts';
import { partsOfMade } from './made_charts.ts';
import { isOnRight, removeOverlay, setAxis } from './overlay_charts.ts';
import {
  curveSettings,
  dressed,
  groupsOfRuns,
  type MadeOf,
  queryOf,
  setZoom,
  zoomOf,
} from './scalar_query.ts';
import { groupBand, ignoreOutliers, yScale } from './view.ts';

const PX_STEP = 64;

export default function ScalarCard({ card, tag, runs, width, height }: CardProps) {
  const owner = useRef({}).current;
  const frame = useCardFrame();
  const [loaded, setLoaded] = useState<LoadedCurve[][] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  const settings = curveSettings();
  const shownRuns = runs.length > MOST_DRAWN ? runs.slice(0, MOST_DRAWN) : runs;
  const groups = groupsOfRuns(shownRuns);
  const zoom = zoomOf(card.id);
  const px = Math.max(PX_STEP, Math.ceil((width - 40) / PX_STEP) * PX_STEP);
  const made: MadeOf[] = card.made
    ? partsOfMade(card)
    : [tag, ...card.overlays].map((one) => ({
        tag: one,
        right: one !== tag && isOnRight(card.id, one.name),
      }));
  const partsKey = JSON.stringify(made.map((p) => [p.tag.id, p.right, p.expression]));
  const parts = useMemo(() => made, [partsKey]);
  const queries = parts.map((part) => queryOf(part, shownRuns, groups, settings, zoom?.x ?? null, px));
  const asked = JSON.stringify(queries);

  // How many points each run has of the tags: what changed while the page was open is fetched again.
  const counts = shownRuns.map((run) => {
    const of = seriesByRun.value.get(run.id);
    let n = 0;
    for (const part of parts) {
      for (const id of part.expression ? Object.values(part.expression.variables) : [part.tag.id])
        n += of?.get(id)?.n ?? 0;
    }
    return n;
  });
  const version = counts.join();
  const done = useRef<{ asked: string; counts: Map<number, number> } | null>(null);

  useEffect(() => {
    const before = done.current;
    const now = new Map(shownRuns.map((run, i) => [run.id, counts[i]!]));
    let changed: Set<number> | null = null;
    if (before && before.asked === asked && attempt === 0) {
      changed = new Set(
        shownRuns.filter((run) => before.counts.get(run.id) !== now.get(run.id)).map((run) => run.id),
      );
      if (changed.size === 0) return;
    }
    if (shownRuns.length === 0) {
      giveUp(owner);
      setLoaded([]);
      return;
    }
    const partial = changed !== null && groups === null && changed.size < shownRuns.length;
    const wanted: CurveQuery[] = partial
      ? queries.map((query) => ({ ...query, runs: query.runs!.filter((run) => changed!.has(run)) }))
      : queries;
    wishFor(owner, wanted, (curves, wrong) => {
      if (wrong !== null) {
        setError(wrong);
        return;
      }
      done.current = { asked, counts: now };
      setError(null);
      setLoaded((old) => (partial && old ? old.map((list, i) => replaced(list, curves![i] ?? [])) : curves));
    });
  }, [asked, version, attempt]);
  useEffect(() => () => giveUp(owner), [owner]);

  const styles = runStyles.value;
  const theme = themeVersion.value;
  const band = groupBand.value;
  const curves = useMemo<Curve[]>(() => {
    if (!loaded) return [];
    const names = runById.peek();
    const one = parts.length > 1 && loaded.every((list) => list.length <= 1);
    return loaded.flatMap((list, i) =>
      parts[i]
        ? list.map((curve) =>
            dressed(curve, parts[i]!, i, groups, (run) => names.get(run)?.name ?? '', one ? i % 8 : null),
          )
        : [],
    );
  }, [loaded, styles, theme, band, parts]);

  const scale = yScale.value;
  const outliers = ignoreOutliers.value;
  const view = useMemo<ChartView | null>(() => {
    const x = zoom?.x ?? fitX(curves, settings.log);
    if (!x) return null;
    const left = curves.filter((curve) => !curve.right);
    const right = curves.filter((curve) => curve.right);
    const fitted = fitY(left, x, scale, outliers);
    return {
      x,
      y: zoom?.y ?? fitted ?? (scale === 'log' ? [0.1, 1] : [0, 1]),
      right: right.length > 0 ? (fitY(right, x, scale, outliers) ?? [0, 1]) : null,
      xScale: settings.log ? 'log' : 'linear',
      yScale: scale,
      xUnit: settings.unit,
      xName: settings.name,
      marksClipped: outliers,
    };
  }, [curves, JSON.stringify(zoom), settings.log, settings.unit, settings.name, scale, outliers]);

  useEffect(() => {
    const n = curves.reduce((sum, c) => sum + c.n, 0);
    const drawn = curves.reduce((sum, c) => sum + c.drawn, 0);
    const cut = runs.length > shownRuns.length ? `first ${shownRuns.length} of ${runs.length} runs · ` : '';
    frame.setInfo(
      loaded === null || n === 0
        ? ''
        : `${cut}${drawn < n ? `${count(drawn)} of ${count(n)} points` : n === 1 ? '1 point' : `all ${count(n)} points`}`,
    );
  }, [curves, runs.length]);

  useEffect(() => {
    let bad = 0;
    let infinite = false;
    for (const run of shownRuns) {
      for (const part of parts) {
        const one = seriesByRun.value.get(run.id)?.get(part.tag.id);
        bad += one?.nan ?? 0;
        infinite ||= one !== undefined && one.n > one.nan && !Number.isFinite(one.max - one.min);
      }
    }
    const text = [bad > 0 ? `NaN ${count(bad)}` : '', infinite ? 'Inf' : ''].filter(Boolean).join(', ');
    frame.setBadge(
      text === ''
        ? null
        : {
            text,
            title: 'Values that are no finite numbers: go to the first',
            run: () => jumpToBad(card.id, curves, settings.axis),
          },
    );
  }, [version, curves]);

  useEffect(() => {
    frame.setMenu([
      ...(zoomOf(card.id)
        ? [{ text: 'Fit to the data', hint: 'double click', run: () => setZoom(card.id, null) }, null]
        : []),
      ...downloads(card, shownRuns, parts),
      ...card.overlays.flatMap((one) => [
        null,
        {
          text: `${one.name} on a right axis`,
          checked: isOnRight(card.id, one.name),
          run: () => setAxis(card.id, one.name, !isOnRight(card.id, one.name)),
        },
        { text: `Take ${one.name} off`, run: () => removeOverlay(card.id, one.name) },
      ]),
    ]);
  }, [card.id, partsKey, asked, curves.length > 0]);

  if (error) {
    return (
      <div class="tile-message" role="alert">
        <p>{error}</p>
        <button type="button" onClick={() => setAttempt((n) => n + 1)}>
          Try again
        </button>
      </div>
    );
  }
  if (!loaded) return <div class="tile-wait" />;
  if (!view || curves.length === 0) {
    return (
      <p class="tile-message">
        {shownRuns.length === 0
          ? 'None of the chosen runs has this tag.'
          : settings.log
            ? 'No point lies above 0 on the x axis.'
            : 'There are no points here yet.'}
      </p>
    );
  }
  return (
    <LineChart
      id={card.id}
      title={card.tag.name}
      curves={curves}
      view={view}
      axis={settings.axis}
      width={width}
      height={height}
      onZoom={(x: Span, y: Span | null) => setZoom(card.id, { x, y })}
      onReset={() => setZoom(card.id, null)}
    />
  );
}

/** The list with the curves of some runs taken from another; runs that are new come last. */
function replaced(old: LoadedCurve[], fresh: LoadedCurve[]): LoadedCurve[] {
  const byRun = new Map(fresh.map((curve) => [curve.run, curve]));
  const kept = old.map((curve) => {
    const found = byRun.get(curve.run);
    byRun.delete(curve.run);
    return found ?? curve;
  });
  return [...kept, ...byRun.values()];
}

const count = (n: number): string =>
  n < 10_000_000 ? n.toLocaleString('en') : shortNumber(n / 1e6, 3).concat('M');

/** Zooms to the first value that is not finite. */
function jumpToBad(card: string, curves: Curve[], axis: string): void {
  let first = Number.POSITIVE_INFINITY;
  for (const { x, flags } of curves) {
    const at = flags ? flags.findIndex((f) => (f & 7) !== 0) : -1;
    if (at >= 0) first = Math.min(first, x[at]!);
  }
  const all = fitX(curves, false);
  if (!Number.isFinite(first) || !all) return;
  const room = (all[1] - all[0]) / 20;
  setZoom(card, { x: [Math.max(all[0], first - room), Math.min(all[1], first + room)], y: null });
  if (axis === 'step') stepCursor.value = Math.round(first);
}
