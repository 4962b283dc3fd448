/** Rings round the selected and the hovered item, drawn over the picture. */
import type { Camera } from '../drawing/camera.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import { GROUP } from '../scene/scene.ts';

/** Draws a ring round the item at an index of the scene. */
export function drawRing(
  on: CanvasRenderingContext2D,
  indexed: IndexedScene,
  index: number,
  camera: Camera,
  width: number,
  style: string,
): void {
  const r = indexed.rect(index);
  const round = indexed.scene.kind[index]! < GROUP ? (r.h * camera.k) / 2 : 8 * camera.k;
  const out = width / 2 + 1;
  on.strokeStyle = style;
  on.lineWidth = width;
  on.beginPath();
  on.roundRect(
    (r.x - camera.x) * camera.k - out,
    (r.y - camera.y) * camera.k - out,
    r.w * camera.k + 2 * out,
    r.h * camera.k + 2 * out,
    Math.max(2, round + out),
  );
  on.stroke();
}
