/** Draws the percentiles of histograms as bands over the steps. */
import type { Surface } from '../picture/surface.ts';
import { type Facet, position, type Scene, stepAt, valueAt } from './histogram_scene.ts';

const BANDS = [
  [0, 8, 0.1],
  [1, 7, 0.16],
  [2, 6, 0.22],
  [3, 5, 0.3],
] as const;

export function drawBands(on: Surface, scene: Scene, { box, layers }: Facet): void {
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
