/** Draws precision over recall, or true over false positive rate. */
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import type { Point } from './pr_curve.ts';

export type CurveKind = 'pr' | 'roc';

export interface Drawable {
  points: Point[];
  colour: string;
}

interface Look {
  kind: CurveKind;
  width: number;
  height: number;
  threshold: number;
}

interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export function plotBox(width: number, height: number): Box {
  return { x: 44, y: 8, w: Math.max(1, width - 56), h: Math.max(1, height - 42) };
}

function place(box: Box, kind: CurveKind, point: Point): [number, number] {
  const right = kind === 'pr' ? point.recall : point.falsePositiveRate;
  const up = kind === 'pr' ? point.precision : point.recall;
  return [box.x + box.w * right, box.y + box.h * (1 - up)];
}

export function drawCurves(on: Surface, curves: Drawable[], look: Look, palette: Palette): void {
  const box = plotBox(look.width, look.height);
  on.globalAlpha = 1;
  on.fillStyle = palette.surface;
  on.fillRect(0, 0, look.width, look.height);
  drawGrid(on, box, look, palette);
  for (const { points, colour } of curves) {
    on.beginPath();
    let open = false;
    for (const point of points) {
      const [x, y] = place(box, look.kind, point);
      if (Number.isNaN(x + y)) continue;
      if (open) on.lineTo(x, y);
      else on.moveTo(x, y);
      open = true;
    }
    on.lineWidth = 1.5;
    on.strokeStyle = colour;
    on.stroke();
  }
  for (const { points, colour } of curves) {
    const at = points[Math.round(look.threshold * (points.length - 1))];
    const [x, y] = at ? place(box, look.kind, at) : [Number.NaN, 0];
    if (Number.isNaN(x + y)) continue;
    on.beginPath();
    on.arc(x, y, 4.5, 0, Math.PI * 2);
    on.fillStyle = colour;
    on.fill();
    on.lineWidth = 1.5;
    on.strokeStyle = palette.surface;
    on.stroke();
  }
}

function drawGrid(on: Surface, box: Box, look: Look, palette: Palette): void {
  on.lineWidth = 1;
  on.strokeStyle = palette.grid;
  on.fillStyle = palette.faint;
  on.font = `10.5px ${palette.font}`;
  const line = (x0: number, y0: number, x1: number, y1: number) => {
    on.beginPath();
    on.moveTo(x0, y0);
    on.lineTo(x1, y1);
    on.stroke();
  };
  for (let i = 0; i <= 5; i++) {
    const x = Math.round(box.x + (box.w * i) / 5) + 0.5;
    const y = Math.round(box.y + (box.h * i) / 5) + 0.5;
    line(x, box.y, x, box.y + box.h);
    line(box.x, y, box.x + box.w, y);
    on.textAlign = 'center';
    on.textBaseline = 'top';
    on.fillText(String(i / 5), x, box.y + box.h + 5);
    on.textAlign = 'right';
    on.textBaseline = 'middle';
    on.fillText(String((5 - i) / 5), box.x - 6, y);
  }
  if (look.kind === 'roc') {
    on.setLineDash([4, 4]);
    on.strokeStyle = palette.line;
    line(box.x, box.y + box.h, box.x + box.w, box.y);
    on.setLineDash([]);
  }
  on.textBaseline = 'top';
  on.textAlign = 'right';
  on.fillText(look.kind === 'pr' ? 'recall' : 'false positive rate', box.x + box.w, box.y + box.h + 19);
  on.textAlign = 'left';
  on.fillText(look.kind === 'pr' ? 'precision' : 'true positive rate', box.x + 6, box.y + 4);
}

/** The point of any curve that is nearest to a place on the screen. */
export function nearestPoint(
  curves: Drawable[],
  kind: CurveKind,
  box: Box,
  x: number,
  y: number,
): Point | null {
  let best: Point | null = null;
  let distance = Infinity;
  for (const { points } of curves) {
    for (const point of points) {
      const [px, py] = place(box, kind, point);
      const away = Math.hypot(px - x, py - y);
      if (away < distance) {
        distance = away;
        best = point;
      }
    }
  }
  return best;
}
