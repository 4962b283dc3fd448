/** Draws histograms as columns of a heat-map. */
import { mix } from '../picture/colour_mix.ts';
import type { Palette } from '../picture/palette.ts';
import type { Surface } from '../picture/surface.ts';
import { type Bucket, columnOf, type Facet, level, type Scene, valueAt } from './histogram_scene.ts';

export function drawHeat(
  on: Surface,
  scene: Scene,
  facet: Facet,
  palette: Palette,
  hovered: Bucket | null,
): void {
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
        // Rounded to pixels, or the background would show through as seams.
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

/** From the background over the run's colour to the colour of text: higher counts always contrast more. */
function heatColour(ground: string, colour: string, far: string, share: number): string {
  return share <= 0.7
    ? mix(ground, colour, 0.08 + 0.92 * (share / 0.7))
    : mix(colour, far, ((share - 0.7) / 0.3) * 0.6);
}
