/** Draws a matrix of scatter plots: where its cells and points lie, on a canvas or into a file. */
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { safeText } from '../strings/safe_text.ts';
import { type Axis, axisTicks, placeOf } from './axis.ts';
import { scaleColour } from './colour_scale.ts';
import { shortened } from './shortened.ts';

const LEFT = 64;
const BOTTOM = 34;
const GAP = 14;
const LEAST_CELL_WIDTH = 70;
const LEAST_CELL_HEIGHT = 110;
/** Between the frame of a cell and its outermost points. */
const PADDING_X = 8;
const PADDING_Y = 6;
/** A point is found within this distance of the pointer, in CSS pixels. */
const REACH = 10;

/** How many columns of cells fit into a width. */
export const columnsThatFit = (width: number): number =>
  Math.max(1, Math.floor((width - LEFT - GAP) / LEAST_CELL_WIDTH));

export interface ScatterPoint {
  x: number;
  y: number;
  row: number;
}

/** Where cells and points are on a picture of a width and at least a height. */
export class ScatterFrame {
  readonly across: Axis[];
  readonly down: Axis[];
  readonly width: number;
  readonly height: number;
  readonly cellWidth: number;
  readonly cellHeight: number;

  constructor(across: Axis[], down: Axis[], width: number, leastHeight: number) {
    this.across = across;
    this.down = down;
    this.width = width;
    this.cellWidth = (width - LEFT - GAP) / Math.max(1, across.length);
    this.cellHeight = Math.max(LEAST_CELL_HEIGHT, (leastHeight - BOTTOM - GAP) / Math.max(1, down.length));
    this.height = this.cellHeight * down.length + BOTTOM + GAP;
  }

  leftOf(column: number): number {
    return LEFT + this.cellWidth * column + GAP / 2;
  }
  topOf(line: number): number {
    return GAP + this.cellHeight * line;
  }
  /** The size of a cell's frame. */
  get plotWidth(): number {
    return this.cellWidth - GAP;
  }
  get plotHeight(): number {
    return this.cellHeight - GAP;
  }
  xAt(column: number, place: number): number {
    return this.leftOf(column) + PADDING_X + (this.plotWidth - 2 * PADDING_X) * place;
  }
  yAt(line: number, place: number): number {
    return this.topOf(line) + PADDING_Y + (this.plotHeight - 2 * PADDING_Y) * (1 - place);
  }

  /** Every point of so many rows, in each cell whose columns have values for it. */
  points(rows: number): ScatterPoint[] {
    return this.down.flatMap((vertical, line) =>
      this.across.flatMap((horizontal, column) => {
        const found: ScatterPoint[] = [];
        for (let row = 0; row < rows; row++) {
          const x = placeOf(horizontal, horizontal.column.cells[row]!);
          const y = placeOf(vertical, vertical.column.cells[row]!);
          if (x !== null && y !== null) found.push({ x: this.xAt(column, x), y: this.yAt(line, y), row });
        }
        return found;
      }),
    );
  }
}

/** The row of the point that is nearest to a place; null: none is near. */
export function rowAt(points: ScatterPoint[], x: number, y: number): number | null {
  let best: number | null = null;
  let distance = REACH;
  for (const point of points) {
    const away = Math.hypot(point.x - x, point.y - y);
    if (away >= distance) continue;
    distance = away;
    best = point.row;
  }
  return best;
}

export interface ScatterLook {
  /** Rows that meet the conditions; the others are small and grey. */
  met: ReadonlySet<number>;
  /** The row under the pointer. */
  lit: number | null;
  /** The metric that colours the points. */
  colourAxis: Axis | null;
  dark: boolean;
}

export function drawScatter(
  on: Surface,
  frame: ScatterFrame,
  points: ScatterPoint[],
  look: ScatterLook,
  palette: Palette,
): void {
  on.fillStyle = palette.surface;
  on.fillRect(0, 0, frame.width, frame.height);
  on.font = `10.5px ${palette.font}`;
  frame.down.forEach((axis, line) => {
    frame.across.forEach((_, column) => {
      on.strokeStyle = palette.grid;
      on.lineWidth = 1;
      const [left, top] = [Math.round(frame.leftOf(column)), Math.round(frame.topOf(line))];
      on.strokeRect(left + 0.5, top + 0.5, frame.plotWidth, frame.plotHeight);
    });
    drawVerticalAxis(on, frame, axis, line, palette);
  });
  if (frame.down.length > 0) {
    frame.across.forEach((axis, column) => {
      drawHorizontalAxis(on, frame, axis, column, palette);
    });
  }
  drawPoints(on, points, look, palette);
}

function drawHorizontalAxis(
  on: Surface,
  frame: ScatterFrame,
  axis: Axis,
  column: number,
  palette: Palette,
): void {
  const bottom = frame.topOf(frame.down.length - 1) + frame.plotHeight;
  on.fillStyle = palette.faint;
  on.textAlign = 'center';
  on.textBaseline = 'top';
  let free = 0;
  for (const { place, label } of axisTicks(axis, frame.cellWidth / 60)) {
    const text = shortened(safeText(label, 40), 10);
    const at = frame.xAt(column, place);
    const half = on.measureText(text).width / 2;
    if (at - half < free) continue;
    on.fillText(text, at, bottom + 4);
    free = at + half + 6;
  }
  on.fillStyle = palette.text;
  const title = shortened(safeText(axis.column.title, 60), Math.floor(frame.cellWidth / 7));
  on.fillText(title, frame.leftOf(column) + frame.plotWidth / 2, bottom + 19);
}

function drawVerticalAxis(
  on: Surface,
  frame: ScatterFrame,
  axis: Axis,
  line: number,
  palette: Palette,
): void {
  on.fillStyle = palette.faint;
  on.textAlign = 'right';
  on.textBaseline = 'middle';
  for (const { place, label } of axisTicks(axis, frame.cellHeight / 40)) {
    on.fillText(shortened(label, 9), LEFT, frame.yAt(line, place));
  }
  on.fillStyle = palette.text;
  on.save();
  on.translate(10, frame.topOf(line) + frame.plotHeight / 2);
  on.rotate(-Math.PI / 2);
  on.textAlign = 'center';
  on.fillText(shortened(safeText(axis.column.title, 60), Math.floor(frame.cellHeight / 7)), 0, 0);
  on.restore();
}

function drawPoints(
  on: Surface,
  points: ScatterPoint[],
  { met, lit, colourAxis, dark }: ScatterLook,
  palette: Palette,
): void {
  const dot = (point: ScatterPoint, radius: number, fill: string) => {
    on.beginPath();
    on.arc(point.x, point.y, radius, 0, Math.PI * 2);
    on.fillStyle = fill;
    on.fill();
  };
  for (const point of points) if (!met.has(point.row)) dot(point, 2, palette.line);
  on.globalAlpha = 0.85;
  for (const point of points) {
    if (!met.has(point.row)) continue;
    const place = colourAxis && placeOf(colourAxis, colourAxis.column.cells[point.row]!);
    dot(point, 3.25, scaleColour(place, dark, palette.faint));
  }
  on.globalAlpha = 1;
  for (const point of points) {
    if (point.row !== lit) continue;
    dot(point, 6, palette.surface);
    dot(point, 4.5, palette.text);
  }
}
