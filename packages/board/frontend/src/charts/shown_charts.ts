/** The charts in the document: for exports and tests. */
import type { ChartView, Curve } from './chart_model.ts';
import type { ChartAxes } from './draw_chart.ts';

export interface ShownChart {
  id: string;
  title: string;
  curves: Curve[];
  view: ChartView | null;
  axes: ChartAxes | null;
  width: number;
  height: number;
  /** The curves with as many points as there are to have, for pictures that are saved. */
  inFull: (() => Promise<Curve[]>) | null;
}

/** A pinned card is in the document twice: in its folder and at the top. */
export const shownCharts = new Set<ShownChart>();

export function shownChart(id: string): ShownChart | undefined {
  for (const chart of shownCharts) if (chart.id === id && chart.view) return chart;
  return undefined;
}
