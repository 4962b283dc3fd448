/** Draws parallel coordinates: where axes and lines lie, on a canvas or into a file. */
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { safeText } from '../strings/safe_text.ts';
import { type Axis, axisTicks, placeOf } from './axis.ts';
import { scaleColour } from './colour_scale.ts';
import { shortened } from './shortened.ts';

const TOP = 44;
const BOTTOM = 16;
const SIDE = 70;
const REACH = 24;
const NO_VALUE = 12; // below the axis: where lines go that have no value there

/** Where things are on a picture of a size. */
export class ParallelFrame {
  readonly width: number;
  readonly height: number;
  readonly axes: Axis[];
  readonly gap: number;
  readonly tall: number;

  constructor(axes: Axis[], width: number, height: number) {
    this.axes = axes;
    this.width = width;
    this.height = height;
    this.gap = axes.length > 1 ? (width - 2 * SIDE) / (axes.length - 1) : 0;
    this.tall = height - TOP - BOTTOM - NO_VALUE;
  }

  xOf(axis: number): number {
    return this.axes.length > 1 ? SIDE + this.gap * axis : this.width / 2;
  }
  yOf(place: number | null): number {
    return place === null ? this.height - BOTTOM : TOP + this.tall * (1 - place);
  }
  /** The axis within reach; -1: none. */
  axisAt(x: number): number {
    const i = this.nearestAxis(x);
    return Math.abs(x - this.xOf(i)) <= REACH ? i : -1;
  }
  nearestAxis(x: number): number {
    const i = this.gap ? Math.round((x - SIDE) / this.gap) : 0;
    return Math.max(0, Math.min(this.axes.length - 1, i));
  }
  placeAt(y: number): number {
    return Math.max(0, Math.min(1, 1 - (y - TOP) / this.tall));
  }
  isOnAxis(y: number): boolean {
    return y > TOP - 10;
  }
  /** The row whose line is nearest to a place between two axes; null: none is near. */
  rowNear(rows: number[], x: number, y: number): number | null {
    const { axes, gap } = this;
    const i = gap ? Math.max(0, Math.min(axes.length - 2, Math.floor((x - SIDE) / gap))) : 0;
    const left = axes[i];
    const right = axes[i + 1];
    if (!left || !right) return null;
    const t = (x - this.xOf(i)) / gap;
    const eased = t * t * (3 - 2 * t);
    let best: number | null = null;
    let distance = 9;
    for (const row of rows) {
      const a = this.yOf(placeOf(left, left.column.cells[row]!));
      const b = this.yOf(placeOf(right, right.column.cells[row]!));
      const away = Math.abs(a + (b - a) * eased - y);
      if (away < distance) {
        distance = away;
        best = row;
      }
    }
    return best;
  }
}

export interface ParallelLook {
  rows: number;
  /** Rows that meet all conditions; the others are faint. */
  met: Set<number>;
  /** The axis by which lines are coloured. */
  colourAxis: Axis | null;
  dark: boolean;
  /** The highlighted row. */
  lit: number | null;
  /** The stretch of an axis that a condition lets through; null: it has none. */
  stretchOf: (axis: Axis, index: number) => [number, number] | null;
  /** Names above the axes, in pictures without the page's own titles. */
  titled: boolean;
}

export function drawParallel(on: Surface, frame: ParallelFrame, look: ParallelLook, palette: Palette): void {
  const { axes, gap } = frame;
  on.globalAlpha = 1;
  on.fillStyle = palette.surface;
  on.fillRect(0, 0, frame.width, frame.height);
  const line = (row: number) => {
    let before = 0;
    on.beginPath();
    axes.forEach((axis, i) => {
      const x = frame.xOf(i);
      const y = frame.yOf(placeOf(axis, axis.column.cells[row]!));
      if (i === 0) on.moveTo(x, y);
      else on.bezierCurveTo(x - gap * 0.35, before, frame.xOf(i - 1) + gap * 0.65, y, x, y);
      before = y;
    });
    on.stroke();
  };
  const rows = Array.from({ length: look.rows }, (_, row) => row);
  on.lineWidth = 1;
  on.globalAlpha = 0.5;
  on.strokeStyle = palette.line;
  for (const row of rows) if (!look.met.has(row)) line(row);
  on.globalAlpha = rows.length > 200 ? 0.55 : 0.85;
  on.lineWidth = 1.5;
  for (const row of rows) {
    if (!look.met.has(row)) continue;
    const place = look.colourAxis && placeOf(look.colourAxis, look.colourAxis.column.cells[row]!);
    on.strokeStyle = scaleColour(place, look.dark, palette.faint);
    line(row);
  }
  on.globalAlpha = 1;
  if (look.lit !== null) {
    on.lineWidth = 4.5;
    on.strokeStyle = palette.surface;
    line(look.lit);
    on.lineWidth = 2.5;
    on.strokeStyle = palette.text;
    line(look.lit);
  }
  axes.forEach((axis, i) => {
    drawAxis(on, frame, axis, i, look.stretchOf(axis, i), palette);
    if (look.titled) drawTitle(on, axis, frame.xOf(i), gap || frame.width, palette);
  });
}

function drawAxis(
  on: Surface,
  frame: ParallelFrame,
  axis: Axis,
  i: number,
  stretch: [number, number] | null,
  palette: Palette,
): void {
  const x = frame.xOf(i);
  on.strokeStyle = palette.text;
  on.globalAlpha = 0.5;
  on.lineWidth = 1;
  on.beginPath();
  on.moveTo(Math.round(x) + 0.5, TOP);
  on.lineTo(Math.round(x) + 0.5, TOP + frame.tall);
  on.stroke();
  on.globalAlpha = 1;
  on.font = `10.5px ${palette.font}`;
  on.textAlign = 'left';
  on.textBaseline = 'middle';
  for (const { place, label } of axisTicks(axis, frame.tall / 36)) {
    const y = frame.yOf(place);
    on.strokeStyle = palette.faint;
    on.beginPath();
    on.moveTo(x, Math.round(y) + 0.5);
    on.lineTo(x + 4, Math.round(y) + 0.5);
    on.stroke();
    const text = shortened(safeText(label, 60), 14);
    on.lineWidth = 3;
    on.strokeStyle = palette.surface;
    on.strokeText(text, x + 7, y);
    on.lineWidth = 1;
    on.fillStyle = palette.faint;
    on.fillText(text, x + 7, y);
  }
  if (!stretch) return;
  const [from, to] = stretch;
  const y = frame.yOf(to) - 1;
  const h = Math.max(3, frame.yOf(from) - frame.yOf(to) + 2);
  on.fillStyle = palette.accent;
  on.globalAlpha = 0.22;
  on.fillRect(x - 7, y, 14, h);
  on.globalAlpha = 1;
  on.strokeStyle = palette.accent;
  on.lineWidth = 1.5;
  on.strokeRect(x - 7, y, 14, h);
}

function drawTitle(on: Surface, axis: Axis, x: number, room: number, palette: Palette): void {
  on.fillStyle = palette.text;
  on.textAlign = 'center';
  on.textBaseline = 'middle';
  on.font = `${axis.column.role === 'metric' ? '600 ' : ''}11.5px ${palette.font}`;
  const title = `${safeText(axis.column.title, 80)}${axis.log ? ' log' : ''}`;
  on.fillText(shortened(title, Math.max(6, Math.floor(room / 7))), x, 21);
}
