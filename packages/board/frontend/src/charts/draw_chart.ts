/**
 * Draws a chart: grid, axes, bands, lines, and marks of what a line cannot show.
 * Our own and not uPlot's: uPlot wants one x for all series, and runs have each their own (100 runs of 1000
 * points joined are 100 columns of up to 100,000 rows, mostly gaps); superseded points, values that are not
 * finite, restarts, bands and raw data behind smoothed are drawn from the same columns here, and the same
 * calls write SVG. Measured in headless Chromium: 100 runs of 1000 points take 40 to 60 ms a chart.
 */

import type { Pen } from '../scene/pen.ts';
import { type Ticks, ticksOf } from '../units/ticks.ts';
import {
  type ChartView,
  type Curve,
  mapping,
  NAN,
  NEGATIVE,
  type Plot,
  POSITIVE,
  RESTART,
  SUPERSEDED,
} from './chart_model.ts';
import { type Frame, reach, traceLine } from './trace_line.ts';

export interface ChartColours {
  text: string;
  soft: string;
  grid: string;
  axis: string;
  ground: string;
  warning: string;
  font: string;
}

export interface ChartAxes {
  plot: Plot;
  x: Ticks;
  y: Ticks;
  right: Ticks | null;
}

const AXIS_GAP = 7;
const BOTTOM = 22;
const TOP = 8;
const LEAST_LEFT = 34;

/** Chooses ticks and leaves room for their labels. */
export function arrange(
  view: ChartView,
  width: number,
  height: number,
  measure: (text: string) => number,
): ChartAxes {
  const plotHeight = Math.max(20, height - TOP - BOTTOM);
  const manyY = Math.max(2, Math.floor(plotHeight / 34));
  const y = ticksOf(view.y[0], view.y[1], manyY, view.yScale, 'number');
  const right = view.right ? ticksOf(view.right[0], view.right[1], manyY, view.yScale, 'number') : null;
  const wide = (ticks: Ticks) => Math.ceil(Math.max(0, ...ticks.labels.map(measure))) + AXIS_GAP + 4;
  const left = Math.max(LEAST_LEFT, wide(y));
  const plotWidth = Math.max(20, width - left - (right ? Math.max(LEAST_LEFT, wide(right)) : 12));
  let many = Math.max(2, Math.floor(plotWidth / 64));
  let x = ticksOf(view.x[0], view.x[1], many, view.xScale, view.xUnit);
  // Long labels need more room than most.
  while (many > 2) {
    const need = Math.max(0, ...x.labels.map(measure)) + 12;
    if (x.at.length < 2 || need * x.at.length <= plotWidth) break;
    many--;
    x = ticksOf(view.x[0], view.x[1], many, view.xScale, view.xUnit);
  }
  return { plot: { left, top: TOP, width: plotWidth, height: plotHeight }, x, y, right };
}

export function drawAxes(pen: Pen, view: ChartView, axes: ChartAxes, colours: ChartColours): void {
  const { plot } = axes;
  const bottom = plot.top + plot.height;
  const mapX = mapping(view.x, view.xScale);
  const mapY = mapping(view.y, view.yScale);
  pen.font = `11px ${colours.font}`;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.strokeStyle = colours.grid;
  pen.fillStyle = colours.soft;
  const line = (x1: number, y1: number, x2: number, y2: number) => {
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
  };
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  axes.y.at.forEach((value, i) => {
    const y = Math.round(bottom - mapY.to(value) * plot.height) + 0.5;
    if (y < plot.top - 0.5 || y > bottom + 1) return;
    line(plot.left, y, plot.left + plot.width, y);
    pen.fillText(axes.y.labels[i]!, plot.left - AXIS_GAP, y);
  });
  if (axes.right && view.right) {
    const mapRight = mapping(view.right, view.yScale);
    pen.textAlign = 'left';
    axes.right.at.forEach((value, i) => {
      const y = Math.round(bottom - mapRight.to(value) * plot.height) + 0.5;
      if (y < plot.top - 0.5 || y > bottom + 1) return;
      line(plot.left + plot.width, y, plot.left + plot.width + 4, y);
      pen.fillText(axes.right!.labels[i]!, plot.left + plot.width + AXIS_GAP, y);
    });
  }
  pen.textAlign = 'center';
  pen.textBaseline = 'top';
  axes.x.at.forEach((value, i) => {
    const x = Math.round(plot.left + mapX.to(value) * plot.width) + 0.5;
    if (x < plot.left - 1 || x > plot.left + plot.width + 1) return;
    line(x, plot.top, x, bottom);
    // A label at an end of the axis stays within the chart.
    const half = axes.x.labels[i]!.length * 3.2;
    const most = plot.left + plot.width + (axes.right ? 0 : 10) - half;
    pen.fillText(axes.x.labels[i]!, Math.max(half + 2, Math.min(x, most)), bottom + 6);
  });
  pen.strokeStyle = colours.axis;
  line(plot.left, bottom + 0.5, plot.left + plot.width, bottom + 0.5);
}

/** The frame in which a curve is drawn. */
export function frameOf(view: ChartView, plot: Plot, curve: Curve): Frame {
  return {
    plot,
    x: mapping(view.x, view.xScale),
    y: mapping(curve.right && view.right ? view.right : view.y, view.yScale),
    from: view.x[0],
    to: view.x[1],
  };
}

const RAW_ALPHA = 0.28;
const OLD_ALPHA = 0.4;
const BAND_ALPHA = 0.16;
/** Pixels for each point, from which on points are drawn as dots. */
const DOT_ROOM = 14;
const DOT_RADIUS = 2.2;
/** With more lines than this, dashes only blur, and cost more than the lines. */
const MOST_DASHED = 40;
/** A line of one pixel is drawn many times faster than a broader one. */
const MOST_BROAD_POINTS = 12_000;

/** Draws one curve; the caller clips to the plot. `named` is called before the line itself is stroked. */
export function drawCurve(
  pen: Pen,
  curve: Curve,
  view: ChartView,
  plot: Plot,
  many: number,
  named?: () => void,
  dense = true,
): void {
  const frame = frameOf(view, plot, curve);
  pen.lineJoin = 'round';
  if (curve.lo && curve.hi) drawBand(pen, curve, frame);
  pen.strokeStyle = curve.colour;
  if (curve.raw) {
    pen.globalAlpha = RAW_ALPHA;
    pen.lineWidth = 1;
    pen.setLineDash([]);
    pen.beginPath();
    traceLine(pen, curve, curve.raw, frame, false, dense);
    pen.stroke();
  }
  if (curve.superseded > 0) {
    pen.globalAlpha = OLD_ALPHA;
    pen.lineWidth = 1;
    pen.setLineDash([2, 2]);
    pen.beginPath();
    traceLine(pen, curve, curve.raw ?? curve.y, frame, true, dense);
    pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.lineWidth = many * Math.min(curve.x.length, plot.width * 3) > MOST_BROAD_POINTS ? 1 : 1.5;
  pen.setLineDash(many > MOST_DASHED ? [] : curve.dash);
  pen.beginPath();
  traceLine(pen, curve, curve.y, frame, false, dense, many > MOST_DASHED);
  named?.();
  pen.stroke();
  pen.setLineDash([]);
}

/** Draws points that lie far apart as dots; they are whole at the ends of the axes, so nothing clips them. */
export function drawDots(pen: Pen, curve: Curve, view: ChartView, plot: Plot, many: number): void {
  if (many > MOST_DASHED) return;
  const frame = frameOf(view, plot, curve);
  const [begin, end] = reach(curve.x, frame.from, frame.to);
  if ((end - begin) * DOT_ROOM > plot.width) return;
  pen.fillStyle = curve.colour;
  pen.beginPath();
  for (let i = begin; i < end; i++) {
    if (curve.flags && curve.flags[i]! & SUPERSEDED) continue;
    const x = plot.left + frame.x.to(curve.x[i]!) * plot.width;
    const y = plot.top + plot.height - frame.y.to(curve.y[i]!) * plot.height;
    if (!isWithin(plot, x, y)) continue;
    pen.moveTo(x + DOT_RADIUS, y);
    pen.arc(x, y, DOT_RADIUS, 0, Math.PI * 2);
  }
  pen.fill();
}

const isWithin = ({ left, top, width, height }: Plot, x: number, y: number): boolean =>
  x >= left - 0.5 && x <= left + width + 0.5 && y >= top - 0.5 && y <= top + height + 0.5;

function drawBand(pen: Pen, curve: Curve, frame: Frame): void {
  const { plot, x: mapX, y: mapY } = frame;
  const [begin, end] = reach(curve.x, frame.from, frame.to);
  const bottom = plot.top + plot.height;
  const clampedY = (value: number) => Math.max(-1e5, Math.min(1e5, bottom - mapY.to(value) * plot.height));
  pen.fillStyle = curve.colour;
  pen.globalAlpha = BAND_ALPHA;
  let from = begin;
  const isGap = (i: number) =>
    !(Number.isFinite(mapY.to(curve.lo![i]!)) && Number.isFinite(mapY.to(curve.hi![i]!)));
  while (from < end) {
    if (isGap(from)) {
      from++;
      continue;
    }
    let to = from;
    while (to < end && !isGap(to)) to++;
    pen.beginPath();
    for (let i = from; i < to; i++) {
      const x = plot.left + mapX.to(curve.x[i]!) * plot.width;
      if (i === from) pen.moveTo(x, clampedY(curve.hi![i]!));
      else pen.lineTo(x, clampedY(curve.hi![i]!));
    }
    for (let i = to - 1; i >= from; i--) {
      pen.lineTo(plot.left + mapX.to(curve.x[i]!) * plot.width, clampedY(curve.lo![i]!));
    }
    pen.closePath();
    pen.fill();
    from = to;
  }
  pen.globalAlpha = 1;
}

export interface Mark {
  /** 'unplaced': 0 or less on a logarithmic axis. */
  kind: 'nan' | 'positive' | 'negative' | 'restart' | 'above' | 'below' | 'unplaced';
  x: number;
  y: number;
}

const LEAST_BETWEEN = 7;

/** Marks of a curve in pixels: values that have no place on the axis, restarts, and what lies beyond it. */
export function marksOf(curve: Curve, view: ChartView, plot: Plot): Mark[] {
  const marks: Mark[] = [];
  const isLog = view.yScale === 'log';
  if (!curve.flags && !view.marksClipped && !isLog) return marks;
  const frame = frameOf(view, plot, curve);
  const [begin, end] = reach(curve.x, frame.from, frame.to);
  const bottom = plot.top + plot.height;
  const lastX: Record<string, number> = {};
  let lastY = bottom - plot.height / 2;
  const add = (kind: Mark['kind'], x: number, y: number) => {
    if (x < plot.left - 1 || x > plot.left + plot.width + 1) return;
    if (x - (lastX[kind] ?? Number.NEGATIVE_INFINITY) < LEAST_BETWEEN) return;
    lastX[kind] = x;
    marks.push({ kind, x, y });
  };
  for (let i = begin; i < end; i++) {
    const flags = curve.flags ? curve.flags[i]! : 0;
    if (flags & SUPERSEDED) continue;
    const x = plot.left + frame.x.to(curve.x[i]!) * plot.width;
    const y = bottom - frame.y.to(curve.y[i]!) * plot.height;
    if (Number.isFinite(y)) lastY = Math.max(plot.top, Math.min(bottom, y));
    if (flags & NAN) add('nan', x, lastY);
    if (flags & POSITIVE) add('positive', x, plot.top);
    if (flags & NEGATIVE) add('negative', x, bottom);
    else if (isLog && curve.y[i]! <= 0) add('unplaced', x, bottom);
    if (flags & RESTART && Number.isFinite(y)) add('restart', x, lastY);
    if (view.marksClipped && Number.isFinite(y)) {
      if (y < plot.top - 0.5) add('above', x, plot.top);
      else if (y > bottom + 0.5) add('below', x, bottom);
    }
  }
  return marks;
}

export function drawMarks(pen: Pen, marks: Mark[], colour: string, colours: ChartColours): void {
  pen.setLineDash([]);
  for (const { kind, x, y } of marks) {
    pen.beginPath();
    pen.lineWidth = 1.5;
    if (kind === 'restart') {
      pen.strokeStyle = colour;
      pen.fillStyle = colours.ground;
      pen.arc(x, y, 3.2, 0, Math.PI * 2);
      pen.fill();
      pen.stroke();
      continue;
    }
    if (kind === 'nan') {
      pen.strokeStyle = colours.warning;
      pen.moveTo(x - 3.5, y - 3.5);
      pen.lineTo(x + 3.5, y + 3.5);
      pen.moveTo(x + 3.5, y - 3.5);
      pen.lineTo(x - 3.5, y + 3.5);
      pen.stroke();
      continue;
    }
    const up = kind === 'positive' || kind === 'above';
    const tip = up ? y + 1 : y - 1;
    const foot = up ? y + 6 : y - 6;
    pen.moveTo(x, tip);
    pen.lineTo(x - 3.5, foot);
    pen.lineTo(x + 3.5, foot);
    pen.closePath();
    if (kind === 'unplaced') {
      pen.fillStyle = colours.ground;
      pen.strokeStyle = colours.warning;
      pen.fill();
      pen.stroke();
      continue;
    }
    pen.fillStyle = kind === 'above' || kind === 'below' ? colour : colours.warning;
    pen.fill();
  }
}
