/** Draws histograms as outlines: ridges one behind the other (offset), or all on one base (overlay). */
import { mix } from '../picture/colour_mix.ts';
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import {
  type Bucket,
  type Facet,
  type Layer,
  level,
  overlayY,
  position,
  type Scene,
  stepAt,
  valueAt,
} from './histogram_scene.ts';

interface Ridge {
  layer: number;
  row: number;
  y: number;
}

export function drawRidges(
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
    // Opaque, so that newer steps hide older ones.
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

export function drawOverlay(
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
