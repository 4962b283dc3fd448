/** Draws a histogram scene on a canvas or into an SVG file. */
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { drawAxes } from './draw_axes.ts';
import { drawBands } from './draw_bands.ts';
import { drawHeat } from './draw_heat.ts';
import { drawOverlay, drawRidges } from './draw_outlines.ts';
import {
  type Bucket,
  type Facet,
  type Layer,
  position,
  rowsAt,
  type Scene,
  stepAt,
  upright,
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
    if (scene.view.mode === 'offset') drawRidges(on, scene, facet, palette, here, lit);
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
