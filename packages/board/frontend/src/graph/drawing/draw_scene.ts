/** Draws a scene on a canvas, or on another Surface (the SVG export). */

import { OPENED } from '../scene/scene.ts';
import { Brush } from './brush.ts';
import { drawEdges } from './draw_edges.ts';
import { drawGround, drawStrips, drawStubs, drawTitle } from './draw_groups.ts';
import { drawItem } from './draw_items.ts';
import type { DrawJob, Surface } from './surface.ts';

const CHUNK = 300;

/** Draws in steps: after each yield the caller may pause to keep the page responsive. */
export function* drawScene(surface: Surface, job: DrawJob): Generator<void> {
  const { indexed, camera, width, height, ratio } = job;
  const { scene } = indexed;
  const k = camera.k;
  surface.setTransform(ratio, 0, 0, ratio, 0, 0);
  surface.globalAlpha = 1;
  surface.fillStyle = job.inks.ground;
  surface.fillRect(0, 0, width, height);
  surface.setTransform(ratio * k, 0, 0, ratio * k, -camera.x * k * ratio, -camera.y * k * ratio);
  const right = camera.x + width / k;
  const bottom = camera.y + height / k;
  const least = 1.1 / k;
  const boxes = job.boxes ?? scene.box;
  const moving = job.boxes !== undefined;
  const items = (
    moving ? Array.from(scene.item.keys()) : indexed.itemsIn(camera.x - 90, camera.y, right, bottom)
  ).filter((i) => boxes[4 * i + 2]! > least || boxes[4 * i + 3]! > least);
  const brush = new Brush(surface, job, boxes);

  // Backgrounds of opened groups, and strips of auxiliary nodes.
  let count = 0;
  for (const i of items) {
    if (scene.kind[i] !== OPENED) continue;
    drawGround(brush, i);
    if (++count % CHUNK === 0) yield;
  }
  if (!moving) drawStrips(brush);
  yield;
  if (job.edgeAlpha !== 0) {
    const edges = indexed.edgesIn(camera.x, camera.y, right, bottom);
    surface.globalAlpha = job.edgeAlpha ?? 1;
    yield* drawEdges(brush, edges);
    surface.globalAlpha = 1;
  }
  for (const i of items) {
    if (scene.kind[i] === OPENED) continue;
    drawItem(brush, i);
    if (++count % CHUNK === 0) yield;
  }
  if (!moving && k > 0.62) drawStubs(brush, items);
  yield;
  for (const i of items) if (scene.kind[i] === OPENED) drawTitle(brush, i);
}
