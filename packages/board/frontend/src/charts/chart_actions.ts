/** What a chart does for the pointer and the keys: move and pin the cross-hair, zoom. */
import { hoveredRun, stepCursor } from '../state/selection.ts';
import { mapping, type Span } from './chart_model.ts';
import { crosshair, pinnedCrosshair } from './crosshair.ts';
import { orderTouches, touches } from './nearest.ts';
import type { ShownChart } from './shown_charts.ts';
import { hideTooltip, showTooltip } from './tooltip.tsx';

export interface ChartActions {
  /** The x and y of a place in the chart, in CSS pixels; beyond the plot those of its edge. */
  xAt(px: number): number;
  yAt(py: number): number;
  isPinned(): boolean;
  /** Puts the cross-hair at an x; with a y the run that is nearest to it is highlighted. */
  point(x: number, y: number | null): void;
  /** Removes the cross-hair, unless it is pinned. */
  leave(): void;
  unpin(): void;
  /** Pins the cross-hair, and moves the step cursor there where x is the step. */
  pin(x: number, y: number): void;
  zoomAbout(x: number, factor: number): void;
}

interface Options {
  chart: ShownChart;
  /** Names the kind of x. */
  axis: string;
  anchor: () => HTMLElement;
  onZoom(x: Span, y: Span | null): void;
}

/** Requires that the chart is painted (`chart.view` and `chart.axes` are set) for xAt and yAt. */
export function chartActions({ chart, axis, anchor, onZoom }: Options): ChartActions {
  const { id } = chart;
  const isPinned = () => pinnedCrosshair.peek()?.chart === id;

  const point = (x: number, y: number | null) => {
    crosshair.value = { x, axis, chart: id };
    if (!chart.axes || !chart.view) return;
    const { plot } = chart.axes;
    const found = touches(chart.curves, chart.view, plot, x);
    const nearest = orderTouches(found, 'nearest', y ?? 0)[0];
    if (y !== null) hoveredRun.value = nearest?.curve.run ?? null;
    showTooltip({
      chart: id,
      anchor: anchor(),
      touches: found,
      view: chart.view,
      pointerX: mapping(chart.view.x, chart.view.xScale).to(x) * plot.width + plot.left,
      pointerY: y ?? plot.top + 8,
      nearest: nearest?.curve.id ?? null,
    });
  };
  return {
    xAt: (px) => {
      const { left, width } = chart.axes!.plot;
      return mapping(chart.view!.x, chart.view!.xScale).from(clamp((px - left) / width));
    },
    yAt: (py) => {
      const { top, height } = chart.axes!.plot;
      return mapping(chart.view!.y, chart.view!.yScale).from(clamp(1 - (py - top) / height));
    },
    isPinned,
    point,
    leave: () => {
      if (crosshair.peek()?.chart === id) crosshair.value = null;
      hoveredRun.value = null;
      if (!isPinned()) hideTooltip(id);
    },
    unpin: () => {
      if (isPinned()) pinnedCrosshair.value = null;
      hideTooltip(id);
    },
    pin: (x, y) => {
      pinnedCrosshair.value = { x, axis, chart: id };
      point(x, y);
      if (axis !== 'step' || !chart.view || !chart.axes) return;
      const nearest = orderTouches(touches(chart.curves, chart.view, chart.axes.plot, x), 'nearest', y)[0];
      stepCursor.value = Math.round(nearest ? nearest.curve.x[nearest.index]! : x);
    },
    zoomAbout: (x, factor) => {
      if (!chart.view) return;
      const map = mapping(chart.view.x, chart.view.xScale);
      const at = map.to(x);
      onZoom([map.from(at - at * factor), map.from(at + (1 - at) * factor)], null);
    },
  };
}

const clamp = (part: number): number => Math.max(0, Math.min(1, part));
