/** The charts in the document: for exports, for the test hook, and for those who look at all of them. */
import type { ChartView, Curve } from './chart_model.ts';
import type { ChartAxes } from './draw_chart.ts';

export interface ShownChart {
  id: string;
  title: string;
  curves: Curve[];
  view: ChartView | null;
  axes: ChartAxes | null;
  /** Curves on the canvas as it is now; -1 while what it shows is out of date. */
  painted: number;
  paintedAt: number;
  width: number;
  height: number;
}

export const shownCharts = new Map<string, ShownChart>();
