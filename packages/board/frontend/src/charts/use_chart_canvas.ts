/** Paints a chart on its two canvases: the lines when the data change, the overlay as the pointer moves. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { fitCanvas, textWidth } from '../scene/canvas_surface.ts';
import { forgetPaint, paintSoon } from '../scene/paint_queue.ts';
import { hoveredRun, stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { themeVersion } from '../style/theme.ts';
import { chartColours } from './chart_colours.ts';
import type { ChartView, Curve } from './chart_model.ts';
import { crosshair, pinnedCrosshair } from './crosshair.ts';
import { arrange, type ChartAxes, drawAxes, drawCurve, drawDots, drawMarks, marksOf } from './draw_chart.ts';
import { type Drag, drawOverlay } from './draw_overlay.ts';
import { touches } from './nearest.ts';
import { type ShownChart, shownCharts } from './shown_charts.ts';
import { hideTooltip, showTooltip, tooltip } from './tooltip.tsx';

interface Options {
  id: string;
  title: string;
  curves: Curve[];
  view: ChartView;
  axis: string;
  width: number;
  height: number;
  inFull?: (() => Promise<Curve[]>) | undefined;
}

interface ChartCanvas {
  /** What the canvas shows now. */
  shown: ShownChart;
  lines: RefObject<HTMLCanvasElement | null>;
  overlay: RefObject<HTMLCanvasElement | null>;
  repaintOverlay(): void;
}

export function useChartCanvas(options: Options, drag: RefObject<Drag | null>): ChartCanvas {
  const { title, curves, view, width, height } = options;
  const lines = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const latest = useRef(options);
  latest.current = options;
  const shown = useShownChart(options);
  const theme = themeVersion.value;

  const drawOver = () => {
    const canvas = overlay.current;
    if (!canvas || !shown.axes || !shown.view) return;
    const pen = fitCanvas(canvas, shown.width, shown.height);
    drawOverlay(pen, shown, latest.current.axis, drag.current, chartColours());
  };
  const repaintOverlay = () => paintSoon(overlay, drawOver);

  useLayoutEffect(() => {
    paintSoon(shown, () => {
      if (!lines.current) return;
      const axes = paintLines(lines.current, options);
      const inFull = latest.current.inFull ?? null;
      Object.assign(shown, { title, curves, view, axes, width, height, inFull });
      renewTooltip(shown);
      drawOver();
    });
  }, [curves, view, width, height, theme]);

  // The overlay follows signals without a new render.
  useEffect(() => {
    const stops = [crosshair, pinnedCrosshair, stepCursor, stepFrom, stepTo, hoveredRun].map((one) =>
      (one as typeof stepCursor).subscribe(repaintOverlay),
    );
    return () => {
      for (const stop of stops) stop();
      forgetPaint(overlay);
    };
  }, [shown]);

  return { shown, lines, overlay, repaintOverlay };
}

/** The chart's record in shownCharts, as long as the chart is in the document. */
function useShownChart({ id, title, width, height }: Options): ShownChart {
  const shown = useMemo<ShownChart>(
    () => ({
      id,
      title,
      curves: [],
      view: null,
      axes: null,
      width,
      height,
      inFull: null,
    }),
    [id],
  );
  useLayoutEffect(() => {
    shownCharts.add(shown);
    return () => {
      shownCharts.delete(shown);
      forgetPaint(shown);
      hideTooltip(id);
      if (crosshair.peek()?.chart === id) crosshair.value = null;
      if (pinnedCrosshair.peek()?.chart === id) pinnedCrosshair.value = null;
    };
  }, [id, shown]);
  return shown;
}

function paintLines(canvas: HTMLCanvasElement, { curves, view, width, height }: Options): ChartAxes {
  const colours = chartColours();
  const font = `11px ${colours.font}`;
  const axes = arrange(view, width, height, (text) => textWidth(text, font));
  const { plot } = axes;
  const pen = fitCanvas(canvas, width, height);
  drawAxes(pen, view, axes, colours);
  pen.save();
  pen.beginPath();
  pen.rect(plot.left, plot.top - 1, plot.width, plot.height + 2);
  pen.clip();
  for (const curve of curves) drawCurve(pen, curve, view, plot, curves.length);
  pen.restore();
  for (const curve of curves) drawDots(pen, curve, view, plot, curves.length);
  for (const curve of curves) drawMarks(pen, marksOf(curve, view, plot), curve.colour, colours);
  return axes;
}

/** Puts the values that are painted now into the table beside the cross-hair. */
function renewTooltip({ id, curves, view, axes }: ShownChart): void {
  const state = tooltip.peek();
  const at = pinnedCrosshair.peek() ?? crosshair.peek();
  if (state?.chart !== id || at?.chart !== id || !view || !axes) return;
  showTooltip({ ...state, view, touches: touches(curves, view, axes.plot, at.x) });
}
