/** The keys of a chart: arrows move the cross-hair, Space pins it, plus, minus and 0 zoom. */
import { copyText } from '../browser/clipboard.ts';
import { hoveredRun } from '../state/selection.ts';
import type { ChartActions } from './chart_actions.ts';
import { type ChartView, mapping } from './chart_model.ts';
import { crosshair, pinnedCrosshair } from './crosshair.ts';
import type { ChartAxes } from './draw_chart.ts';
import { nearestIndex, orderTouches, touches } from './nearest.ts';
import type { ShownChart } from './shown_charts.ts';
import { nextOrder } from './tooltip.tsx';

interface Options {
  chart: ShownChart;
  axis: string;
  actions: ChartActions;
  onReset(): void;
}

type PaintedChart = ShownChart & { view: ChartView; axes: ChartAxes };

const isPainted = (chart: ShownChart): chart is PaintedChart => chart.view !== null && chart.axes !== null;

export function chartKeys({ chart, axis, actions, onReset }: Options): (event: KeyboardEvent) => void {
  const { id } = chart;

  /** Moves the cross-hair, and the pin with it. */
  const moveTo = ({ view }: PaintedChart, next: number) => {
    const x = Math.max(view.x[0], Math.min(view.x[1], next));
    if (actions.isPinned()) pinnedCrosshair.value = { x, axis, chart: id };
    actions.point(x, null);
  };

  const onChartKey = (painted: PaintedChart, x: number, event: KeyboardEvent): boolean => {
    const step = event.shiftKey ? 10 : 1;
    switch (event.key) {
      case 'ArrowRight':
        moveTo(painted, pointBeside(painted, x, step));
        return true;
      case 'ArrowLeft':
        moveTo(painted, pointBeside(painted, x, -step));
        return true;
      case 'ArrowUp':
      case 'ArrowDown':
        hoverNextRun(painted, x, event.key === 'ArrowUp' ? -1 : 1);
        moveTo(painted, x);
        return true;
      case 'Enter':
        copyHoveredLabel(painted, x);
        return true;
      case ' ':
        if (actions.isPinned()) actions.unpin();
        else actions.pin(x, 0);
        return true;
      case '+':
      case '=':
        actions.zoomAbout(x, 0.7);
        return true;
      case '-':
        actions.zoomAbout(x, 1 / 0.7);
        return true;
      case '0':
        onReset();
        return true;
      case 's':
        nextOrder();
        return true;
      case 'Escape':
        if (!actions.isPinned() && crosshair.peek()?.chart !== id) return false;
        actions.unpin();
        actions.leave();
        return true;
      default:
        return false;
    }
  };

  return (event) => {
    // The browser and the page handle keys with Ctrl, Meta or Alt.
    if (!isPainted(chart) || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = actions.isPinned() ? pinnedCrosshair.peek() : crosshair.peek();
    const [from, to] = chart.view.x;
    if (onChartKey(chart, now?.chart === id ? now.x : (from + to) / 2, event)) event.preventDefault();
  };
}

/** The x of a point so many points from x on the highlighted curve; at least a pixel away from x. */
function pointBeside({ curves, view, axes }: PaintedChart, x: number, by: number): number {
  const map = mapping(view.x, view.xScale);
  const pixels = (to: number) => Math.abs(map.to(to) - map.to(x)) * axes.plot.width;
  const guide = curves.find((curve) => curve.run === hoveredRun.peek()) ?? curves[0];
  const index = guide ? nearestIndex(guide, x) : -1;
  const jump = map.from(map.to(x) + by / axes.plot.width);
  if (!guide || index < 0) return jump;
  const next = guide.x[Math.max(0, Math.min(guide.x.length - 1, index + by))]!;
  return pixels(next) < 1 ? jump : next;
}

/** Highlights the run above or below the highlighted one at x. */
function hoverNextRun({ curves, view, axes }: PaintedChart, x: number, by: 1 | -1): void {
  const order = orderTouches(touches(curves, view, axes.plot, x), 'highest', 0);
  const at = order.findIndex((touch) => touch.curve.run === hoveredRun.peek());
  const next = order[at < 0 ? 0 : at + by];
  if (next) hoveredRun.value = next.curve.run;
}

function copyHoveredLabel({ curves, view, axes }: PaintedChart, x: number): void {
  const order = orderTouches(touches(curves, view, axes.plot, x), 'nearest', 0);
  const chosen = order.find((touch) => touch.curve.run === hoveredRun.peek()) ?? order[0];
  if (chosen) void copyText(chosen.curve.label);
}
