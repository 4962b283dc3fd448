/** The ranges and scales of a chart's axes. */
import type { ChartView, Curve } from '../../charts/chart_model.ts';
import { fitX, fitY } from '../../charts/fit.ts';
import type { CardStyle } from '../settings/card_style.ts';
import type { Scale } from '../settings/chart_settings.ts';
import type { CurveSettings, Zoom } from './scalar_query.ts';

/** Fits the axes to the curves, except where the chart is zoomed or its card has its own ends; null: no points. */
export function chartView(
  curves: Curve[],
  settings: CurveSettings,
  zoom: Zoom | null,
  scale: Scale,
  outliers: boolean,
  { lo, hi }: CardStyle,
): ChartView | null {
  const x = zoom?.x ?? fitX(curves, settings.log);
  if (!x) return null;
  const left = curves.filter((curve) => !curve.right);
  const right = curves.filter((curve) => curve.right);
  const fitted = fitY(left, x, scale, outliers) ?? (scale === 'log' ? [0.1, 1] : [0, 1]);
  const isPossible = (end: number | undefined) => end !== undefined && (scale !== 'log' || end > 0);
  const y: [number, number] = [isPossible(lo) ? lo! : fitted[0], isPossible(hi) ? hi! : fitted[1]];
  return {
    x,
    y: zoom?.y ?? (y[0] < y[1] ? y : fitted),
    right: right.length > 0 ? (fitY(right, x, scale, outliers) ?? [0, 1]) : null,
    xScale: settings.log ? 'log' : 'linear',
    yScale: scale,
    xUnit: settings.unit,
    xName: settings.name,
    marksClipped: outliers || isPossible(lo) || isPossible(hi),
  };
}
