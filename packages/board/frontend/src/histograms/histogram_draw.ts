/** Draws a histogram scene on a canvas or into an SVG file. */

import { mix } from '../picture/colour_mix.ts';
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { wallTime } from '../units/dates.ts';
import { shortDuration } from '../units/durations.ts';
import { prefixedNumber } from '../units/numbers.ts';
import { roundTicks } from '../units/ticks.ts';
import {
  type Bucket,
  columnOf,
  type Facet,
  type Layer,
  level,
  overlayY,
  position,
  rowsAt,
  type Scene,
  stepAt,
  upright,
  valueAt,
} from './histogram_scene.ts';

export interface Marks {
  hovered: Bucket | null;
  /** The global step cursor. */
  cursor: number | null;
}

export function draw(on: Surface, scene: Scene, palette: Palette, marks: Marks): void {
  on.globalAlpha = 1;
  on.fillStyle = palette.surface;
  on.fillRect(0, 0, scene.width, scene.height);
  on.setLineDash([]);
  scene.facets.forEach((facet, i) => {
    const here = marks.hovered?.facet === i ? marks.hovered : null;
    const lit = marks.cursor === null ? [] : rowsAt(facet, marks.cursor);
    drawAxes(on, scene, facet, palette);
    if (scene.view.mode === 'offset') drawRidge(on, scene, facet, palette, here, lit);
    else if (scene.view.mode === 'overlay') drawOverlay(on, scene, facet, palette, here, lit);
    else if (scene.view.mode === 'heat') drawHeat(on, scene, facet, palette, here);
    else drawBands(on, scene, facet);
    if (upright(scene)) drawCursors(on, scene, facet, palette, here, marks.cursor);
    if (facet.title && scene.facets.length > 1) drawTitle(on, facet, palette);
  });
}

function drawTitle(on: Surface, { box, title, layers }: Facet, palette: Palette): void {
  const room = Math.max(3, Math.floor((box.w - 12) / 6));
  const shown = title.length > room ? `…${title.slice(1 - room)}` : title;
  on.fillStyle = layers[0]!.colour;
  on.fillRect(box.x, box.y - 14, 8, 8);
  on.fillStyle = palette.text;
  on.font = `11px ${palette.font}`;
  on.textAlign = 'left';
  on.textBaseline = 'middle';
  on.fillText(shown, box.x + 12, box.y - 10);
}

/** The axis of values lies below the ridges, and left of heat-maps and bands. */
function drawAxes(on: Surface, scene: Scene, { box, layers }: Facet, palette: Palette): void {
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

function stepTicks(scene: Scene, wanted: number): number[] {
  return roundTicks(scene.from, scene.to, wanted);
}

function stepWord(scene: Scene, at: number): string {
  if (scene.view.axis === 'step') return prefixedNumber(at);
  if (scene.view.axis === 'relative') return shortDuration(at);
  const [day, time] = wallTime(at).split(' ');
  return scene.to - scene.from > 2 * 86400 ? day!.slice(5) : time!;
}

function countTicks(scene: Scene): number[] {
  if (!scene.view.logCounts) return roundTicks(0, scene.peak, 4);
  const out = [0];
  for (let count = 1; count <= scene.peak; count *= 10) out.push(count);
  return out;
}

function outline(on: Surface, scene: Scene, layer: Layer, row: number, base: number, high: number): void {
  const { table } = layer;
  const { box } = scene.facets.find((facet) => facet.layers.includes(layer))!;
  on.beginPath();
  for (let bin = 0; bin < table.bins; bin++) {
    const y = base - high * level(scene, table.counts[row * table.bins + bin]!);
    const middle = (table.edges[bin]! + table.edges[bin + 1]!) / 2;
    if (bin === 0) on.moveTo(valueAt(scene, box, table.edges[0]!), y);
    on.lineTo(valueAt(scene, box, middle), y);
    if (bin === table.bins - 1) on.lineTo(valueAt(scene, box, table.edges[bin + 1]!), y);
  }
}

interface Ridge {
  layer: number;
  row: number;
  y: number;
}

function drawRidge(
  on: Surface,
  scene: Scene,
  facet: Facet,
  palette: Palette,
  hovered: Bucket | null,
  lit: number[],
): void {
  const { box, layers } = facet;
  const ridges: Ridge[] = layers.flatMap(({ table }, layer) =>
    Array.from({ length: table.rows }, (_, row) => ({
      layer,
      row,
      y: stepAt(scene, box, position(table, row, scene.view.axis)),
    })),
  );
  ridges.sort((a, b) => a.y - b.y);
  const many = ridges.length > box.h / 3;
  for (const { layer, row, y } of ridges) {
    const one = layers[layer]!;
    const age = one.table.rows > 1 ? row / (one.table.rows - 1) : 1;
    const here = hovered?.layer === layer && hovered.row === row;
    const chosen = lit[layer] === row;
    outline(on, scene, one, row, y, scene.headroom);
    on.lineTo(box.x + box.w, y);
    on.lineTo(box.x, y);
    on.closePath();
    // Opaque, so that what is older is hidden behind what is newer.
    on.fillStyle = mix(palette.surface, one.colour, 0.12 + 0.4 * age);
    on.fill();
    on.lineWidth = here || chosen ? 1.75 : many ? 0.5 : 0.9;
    on.strokeStyle = here || chosen ? palette.text : mix(palette.surface, one.colour, 0.55 + 0.45 * age);
    outline(on, scene, one, row, y, scene.headroom);
    on.stroke();
  }
  const at = hovered && layers[hovered.layer];
  if (!hovered || !at) return;
  const y = stepAt(scene, box, position(at.table, hovered.row, scene.view.axis));
  outline(on, scene, at, hovered.row, y, scene.headroom);
  on.lineWidth = 1.75;
  on.strokeStyle = palette.text;
  on.stroke();
  const count = at.table.counts[hovered.row * at.table.bins + hovered.bin]!;
  dot(on, palette, at, binX(scene, facet, at, hovered.bin), y - scene.headroom * level(scene, count));
}

function binX(scene: Scene, { box }: Facet, { table }: Layer, bin: number): number {
  return valueAt(scene, box, (table.edges[bin]! + table.edges[bin + 1]!) / 2);
}

function dot(on: Surface, palette: Palette, layer: Layer, x: number, y: number): void {
  on.beginPath();
  on.arc(x, y, 3.5, 0, Math.PI * 2);
  on.fillStyle = layer.colour;
  on.fill();
  on.lineWidth = 1.5;
  on.strokeStyle = palette.surface;
  on.stroke();
}

function drawOverlay(
  on: Surface,
  scene: Scene,
  facet: Facet,
  palette: Palette,
  hovered: Bucket | null,
  lit: number[],
): void {
  const { box, layers } = facet;
  const strokes: { layer: number; row: number; special: boolean }[] = [];
  layers.forEach(({ table }, layer) => {
    for (let row = 0; row < table.rows; row++) {
      const special = (hovered?.layer === layer && hovered.row === row) || lit[layer] === row;
      strokes.push({ layer, row, special });
    }
  });
  strokes.sort((a, b) => Number(a.special) - Number(b.special));
  for (const { layer, row, special } of strokes) {
    const one = layers[layer]!;
    const age = one.table.rows > 1 ? row / (one.table.rows - 1) : 1;
    outline(on, scene, one, row, box.y + box.h, box.h);
    on.lineWidth = special ? 2 : 1;
    on.strokeStyle = special ? palette.text : mix(palette.surface, one.colour, 0.18 + 0.82 * age ** 1.5);
    on.stroke();
  }
  const at = hovered && layers[hovered.layer];
  if (!hovered || !at) return;
  const count = at.table.counts[hovered.row * at.table.bins + hovered.bin]!;
  dot(on, palette, at, binX(scene, facet, at, hovered.bin), overlayY(scene, box, count));
}

function drawHeat(on: Surface, scene: Scene, facet: Facet, palette: Palette, hovered: Bucket | null): void {
  const { box, layers } = facet;
  layers.forEach(({ table, colour }, at) => {
    on.globalAlpha = at === 0 ? 1 : 0.5;
    for (let row = 0; row < table.rows; row++) {
      const [left, right] = columnOf(scene, box, table, row);
      for (let bin = 0; bin < table.bins; bin++) {
        const count = table.counts[row * table.bins + bin]!;
        if (count <= 0) continue;
        const top = valueAt(scene, box, table.edges[bin + 1]!);
        const bottom = valueAt(scene, box, table.edges[bin]!);
        on.fillStyle = heatColour(palette.surface, colour, palette.text, level(scene, count));
        // Rounded to pixels, so that no seams of the ground shine through.
        const x = Math.round(left);
        const y = Math.round(top);
        on.fillRect(x, y, Math.max(1, Math.round(right) - x), Math.max(1, Math.round(bottom) - y));
      }
    }
  });
  on.globalAlpha = 1;
  const at = hovered && layers[hovered.layer];
  if (!hovered || !at) return;
  const [left, right] = columnOf(scene, box, at.table, hovered.row);
  const top = valueAt(scene, box, at.table.edges[hovered.bin + 1]!);
  const bottom = valueAt(scene, box, at.table.edges[hovered.bin]!);
  on.beginPath();
  on.rect(Math.round(left) - 0.5, Math.round(top) - 0.5, Math.max(3, right - left) + 1, bottom - top + 1);
  on.lineWidth = 1.5;
  on.strokeStyle = palette.text;
  on.stroke();
}

/** From the ground over the run's colour to the colour of text: more is always further from the ground. */
export function heatColour(ground: string, colour: string, far: string, share: number): string {
  return share <= 0.7
    ? mix(ground, colour, 0.08 + 0.92 * (share / 0.7))
    : mix(colour, far, ((share - 0.7) / 0.3) * 0.6);
}

const BANDS = [
  [0, 8, 0.1],
  [1, 7, 0.16],
  [2, 6, 0.22],
  [3, 5, 0.3],
] as const;

function drawBands(on: Surface, scene: Scene, { box, layers }: Facet): void {
  for (const { table, colour } of layers) {
    if (!table.rows) continue;
    const x = (row: number) => stepAt(scene, box, position(table, row, scene.view.axis));
    const y = (row: number, p: number) => valueAt(scene, box, table.percentiles[row * 9 + p]!);
    for (const [low, high, alpha] of BANDS) {
      on.beginPath();
      if (table.rows === 1) {
        on.rect(x(0) - 12, y(0, high), 24, y(0, low) - y(0, high));
      } else {
        for (let row = 0; row < table.rows; row++) {
          if (row === 0) on.moveTo(x(row), y(row, high));
          else on.lineTo(x(row), y(row, high));
        }
        for (let row = table.rows - 1; row >= 0; row--) on.lineTo(x(row), y(row, low));
        on.closePath();
      }
      on.globalAlpha = alpha;
      on.fillStyle = colour;
      on.fill();
    }
    on.globalAlpha = 1;
    on.beginPath();
    on.moveTo(table.rows === 1 ? x(0) - 12 : x(0), y(0, 4));
    for (let row = 0; row < table.rows; row++) on.lineTo(x(row), y(row, 4));
    if (table.rows === 1) on.lineTo(x(0) + 12, y(0, 4));
    on.lineWidth = 1.5;
    on.strokeStyle = colour;
    on.stroke();
  }
}

function drawCursors(
  on: Surface,
  scene: Scene,
  { box, layers }: Facet,
  palette: Palette,
  hovered: Bucket | null,
  cursor: number | null,
): void {
  const rule = (layer: Layer, row: number, style: string, dash: number[]) => {
    const x = Math.round(stepAt(scene, box, position(layer.table, row, scene.view.axis))) + 0.5;
    on.setLineDash(dash);
    on.lineWidth = 1;
    on.strokeStyle = style;
    on.beginPath();
    on.moveTo(x, box.y);
    on.lineTo(x, box.y + box.h);
    on.stroke();
    on.setLineDash([]);
  };
  const first = layers[0];
  if (first && cursor !== null) {
    const [row = -1] = rowsAt({ ...({ box, layers } as Facet), layers: [first] }, cursor);
    if (row >= 0) rule(first, row, palette.accent, [4, 3]);
  }
  const at = hovered && layers[hovered.layer];
  if (hovered && at && scene.view.mode === 'distribution') rule(at, hovered.row, palette.text, []);
}
