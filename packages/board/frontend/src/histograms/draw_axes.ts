/** Draws the axes of a histogram facet. */
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { wallTime } from '../units/dates.ts';
import { shortDuration } from '../units/durations.ts';
import { prefixedNumber } from '../units/numbers.ts';
import { roundTicks } from '../units/ticks.ts';
import { type Facet, overlayY, type Scene, stepAt, upright, valueAt } from './histogram_scene.ts';

/** The axis of values lies below ridges and overlays, and left of heat-maps and bands. */
export function drawAxes(on: Surface, scene: Scene, { box, layers }: Facet, palette: Palette): void {
  on.font = `10.5px ${palette.font}`;
  on.lineWidth = 1;
  on.strokeStyle = palette.grid;
  on.fillStyle = palette.faint;
  const mode = scene.view.mode;
  const steps = stepTicks(scene, box.w < 220 ? 2 : 4);
  const values = roundTicks(scene.lo, scene.hi, Math.max(3, (upright(scene) ? box.h : box.w) / 56));
  const below = (x: number, label: string) => {
    on.textAlign = x < box.x + 14 ? 'left' : x > box.x + box.w - 14 ? 'right' : 'center';
    on.textBaseline = 'top';
    on.fillText(label, x, box.y + box.h + 5);
  };
  const beside = (y: number, label: string) => {
    on.textAlign = 'right';
    on.textBaseline = 'middle';
    on.fillText(label, box.x - 6, y);
  };
  const line = (x0: number, y0: number, x1: number, y1: number) => {
    on.beginPath();
    on.moveTo(x0, y0);
    on.lineTo(x1, y1);
    on.stroke();
  };
  if (upright(scene)) {
    for (const value of values) {
      const y = Math.round(valueAt(scene, box, value)) + 0.5;
      if (mode === 'distribution') line(box.x, y, box.x + box.w, y);
      beside(y, prefixedNumber(value));
    }
    for (const at of steps) below(stepAt(scene, box, at), stepWord(scene, at));
  } else {
    for (const value of values) {
      const x = Math.round(valueAt(scene, box, value)) + 0.5;
      line(x, box.y, x, box.y + box.h);
      below(x, prefixedNumber(value));
    }
    if (mode === 'offset') {
      for (const at of steps) {
        const y = stepAt(scene, box, at);
        if (y <= box.y + box.h) beside(Math.min(y, box.y + box.h - 4), stepWord(scene, at));
      }
    } else if (layers.length) {
      for (const count of countTicks(scene)) {
        const y = Math.round(overlayY(scene, box, count)) + 0.5;
        line(box.x, y, box.x + box.w, y);
        beside(y, prefixedNumber(count));
      }
    }
  }
}

function stepTicks(scene: Scene, count: number): number[] {
  return roundTicks(scene.from, scene.to, count);
}

function stepWord(scene: Scene, at: number): string {
  if (scene.view.axis === 'step') return prefixedNumber(at);
  if (scene.view.axis === 'relative') return shortDuration(at);
  const text = wallTime(at);
  const [day, time] = text.split(' ');
  if (day === undefined || time === undefined) return text; // a number, of a broken clock
  return scene.to - scene.from > 2 * 86400 ? day.slice(5) : time;
}

function countTicks(scene: Scene): number[] {
  if (!scene.view.logCounts) return roundTicks(0, scene.peak, 4);
  const out = [0];
  for (let count = 1; count <= scene.peak; count *= 10) out.push(count);
  return out;
}
