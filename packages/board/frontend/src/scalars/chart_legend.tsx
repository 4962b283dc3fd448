/** Which curve is which, below a chart of few curves. */
import type { Curve } from '../charts/chart_model.ts';
import { DashSwatch } from '../controls/dash_swatch.tsx';
import { hoveredRun } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { legendNames } from './legend_names.ts';

export const MOST_IN_LEGEND = 8;
const LINE_HEIGHT = 18;
const IN_A_LINE = 4;

/** The height of the legend of so many curves, in CSS pixels; 0 without one. */
export function legendHeight(curves: number): number {
  if (curves === 0 || curves > MOST_IN_LEGEND) return 0;
  return Math.ceil(curves / IN_A_LINE) * LINE_HEIGHT + 4;
}

export function ChartLegend({ curves }: { curves: Curve[] }) {
  if (legendHeight(curves.length) === 0) return null;
  const names = legendNames(curves);
  return (
    <ul class={`chart-legend lines-${Math.ceil(curves.length / IN_A_LINE)}`} aria-label="Curves">
      {curves.map((curve, i) => (
        <li
          key={curve.id}
          class={curve.run !== null && hoveredRun.value === curve.run ? 'lit' : undefined}
          title={safeText(names[i]!.whole, 300)}
          onPointerEnter={() => {
            hoveredRun.value = curve.run;
          }}
          onPointerLeave={() => {
            hoveredRun.value = null;
          }}
        >
          <DashSwatch colour={curve.colour} dash={curve.dash} />
          <span class="legend-name">{safeText(names[i]!.short, 80)}</span>
        </li>
      ))}
    </ul>
  );
}
