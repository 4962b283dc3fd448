/** What lies over the lines: cross-hair, step cursor, selected range, the run under the pointer, a drag. */
import { hoveredRun, stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { colour } from '../style/theme.ts';
import { mapping } from './chart_model.ts';
import { crosshair, pinnedCrosshair } from './crosshair.ts';
import { type ChartColours, drawCurve, drawDots } from './draw_chart.ts';
import { touches } from './nearest.ts';
import type { ShownChart } from './shown_charts.ts';

const MOST_DOTS = 24;

export interface Drag {
  x: number;
  y: number;
  toX: number;
  toY: number;
  range: boolean;
}

export function drawOverlay(
  pen: CanvasRenderingContext2D,
  chart: ShownChart,
  axis: string,
  drag: Drag | null,
  colours: ChartColours,
): void {
  const { view, axes, curves } = chart;
  if (!view || !axes) return;
  const { plot } = axes;
  const bottom = plot.top + plot.height;
  const map = mapping(view.x, view.xScale);
  const px = (x: number) => plot.left + map.to(x) * plot.width;
  const vertical = (x: number, style: string, dash: number[]) => {
    const at = Math.round(px(x)) + 0.5;
    if (!(at >= plot.left - 1 && at <= plot.left + plot.width + 1)) return false;
    pen.strokeStyle = style;
    pen.setLineDash(dash);
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(at, plot.top);
    pen.lineTo(at, bottom);
    pen.stroke();
    pen.setLineDash([]);
    return true;
  };
  pen.save();
  pen.beginPath();
  pen.rect(plot.left, 0, plot.width + 1, bottom + 1);
  pen.clip();
  if (axis === 'step' && (stepFrom.value !== null || stepTo.value !== null)) {
    const from = Math.max(plot.left, px(stepFrom.value ?? view.x[0]));
    const to = Math.min(plot.left + plot.width, px(stepTo.value ?? view.x[1]));
    pen.fillStyle = colour('accent');
    pen.globalAlpha = 0.1;
    if (to > from) pen.fillRect(from, plot.top, to - from, plot.height);
    pen.globalAlpha = 1;
  }
  const hovered = hoveredRun.value;
  if (hovered !== null && curves.length > 1) {
    for (const curve of curves) {
      if (curve.run !== hovered) continue;
      pen.save();
      pen.globalAlpha = 1;
      drawCurve(
        pen,
        { ...curve, colour: colours.ground, dash: [], raw: null, lo: null, hi: null, superseded: 0 },
        view,
        plot,
        1,
        () => {
          pen.lineWidth = 5;
        },
      );
      drawCurve(pen, { ...curve, raw: null, lo: null, hi: null, superseded: 0 }, view, plot, 1, () => {
        pen.lineWidth = 2.25;
      });
      drawDots(pen, curve, view, plot, 1);
      pen.restore();
    }
  }
  if (axis === 'step' && stepCursor.value !== null) vertical(stepCursor.value, colour('accent'), []);
  const pinned = pinnedCrosshair.value;
  const hair = pinned?.axis === axis ? pinned : crosshair.value;
  if (hair && hair.axis === axis && vertical(hair.x, colours.soft, hair === pinned ? [] : [3, 3])) {
    const found = touches(curves, view, plot, hair.x);
    const shown = found.length <= MOST_DOTS ? found : found.filter((t) => t.curve.run === hovered);
    for (const touch of shown) {
      if (!Number.isFinite(touch.py)) continue;
      pen.beginPath();
      pen.fillStyle = touch.curve.colour;
      pen.strokeStyle = colours.ground;
      pen.lineWidth = 1.5;
      pen.arc(touch.px, touch.py, touch.curve.run === hovered ? 4 : 3, 0, Math.PI * 2);
      pen.fill();
      pen.stroke();
    }
  }
  if (drag && Math.abs(drag.toX - drag.x) + Math.abs(drag.toY - drag.y) > 4) {
    const wide = Math.abs(drag.toX - drag.x) >= 5;
    const high = !drag.range && Math.abs(drag.toY - drag.y) > 30;
    const left = wide ? Math.min(drag.x, drag.toX) : plot.left;
    const top = high ? Math.min(drag.y, drag.toY) : plot.top;
    const width = wide ? Math.abs(drag.toX - drag.x) : plot.width;
    const height = high ? Math.abs(drag.toY - drag.y) : plot.height;
    pen.fillStyle = colour('accent');
    pen.strokeStyle = colour('accent');
    pen.globalAlpha = drag.range ? 0.18 : 0.12;
    pen.fillRect(left, top, width, height);
    pen.globalAlpha = 0.8;
    pen.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, Math.round(width), Math.round(height));
    pen.globalAlpha = 1;
  }
  pen.restore();
}
