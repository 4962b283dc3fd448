/** Axes and curves of a chart without its title and the names of the curves: for files. */
import { textWidth } from '../scene/canvas_surface.ts';
import type { Pen } from '../scene/pen.ts';
import { SvgPen } from '../scene/svg_pen.ts';
import type { ChartView, Curve } from './chart_model.ts';
import {
  arrange,
  type ChartAxes,
  type ChartColours,
  drawAxes,
  drawCurve,
  drawMarks,
  marksOf,
} from './draw_chart.ts';

/** Draws axes and curves; `onCurve` is called before the line of a curve is stroked. */
export function drawPlot(
  pen: Pen,
  curves: Curve[],
  view: ChartView,
  axes: ChartAxes,
  colours: ChartColours,
  onCurve?: (curve: Curve) => void,
  dense = false,
): void {
  const { plot } = axes;
  drawAxes(pen, view, axes, colours);
  pen.save();
  pen.beginPath();
  pen.rect(plot.left, plot.top - 1, plot.width, plot.height + 2);
  pen.clip();
  for (const curve of curves) {
    drawCurve(pen, curve, view, plot, curves.length, () => onCurve?.(curve), dense);
  }
  pen.restore();
  for (const curve of curves) drawMarks(pen, marksOf(curve, view, plot), curve.colour, colours);
}

export interface PlotSize {
  width: number;
  height: number;
}

/** An SVG element of a plot with at most four points of a curve in each column of pixels. */
export function plotSvg(
  curves: Curve[],
  view: ChartView,
  { width, height }: PlotSize,
  colours: ChartColours,
  idPrefix: string,
): string {
  const font = `11px ${colours.font}`;
  const axes = arrange(view, width, height, (text) => textWidth(text, font));
  const pen = new SvgPen(width, height, idPrefix);
  drawPlot(pen, curves, view, axes, colours, undefined, true);
  return pen.toString();
}
