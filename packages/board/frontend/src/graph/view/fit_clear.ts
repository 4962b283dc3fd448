/** The camera that shows all of a graph. */

import type { Stage } from '../canvas/stage.ts';
import { type Camera, fit } from '../drawing/camera.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import { OPENED } from '../scene/scene.ts';
import type { Session } from '../session/session.ts';

/** What a corner takes, with its distance to the edges and to the graph. */
const MARGIN = 22;

/** The room that a corner of the view takes now: the legend may be folded, the map hidden. */
function cornerOf(stage: Stage, selector: string): { width: number; height: number } {
  const corner = stage.canvas.closest('.graph-stage')?.querySelector(selector)?.getBoundingClientRect();
  if (!corner || corner.width === 0) return { width: 0, height: 0 };
  return { width: corner.width + MARGIN, height: corner.height + MARGIN };
}

/** The camera that shows all, clear of the corners that hold the legend and the minimap. */
export function fitClear(indexed: IndexedScene, stage: Stage): Camera {
  const { width, height } = stage;
  const legend = cornerOf(stage, '.g-left-corner');
  const corner = cornerOf(stage, '.g-right-corner');
  const all = { x: 0, y: 0, w: indexed.scene.width, h: indexed.scene.height };
  const taken = (camera: Camera, left: number, top: number, right: number, bottom: number) =>
    indexed
      .itemsIn(
        camera.x + left / camera.k,
        camera.y + top / camera.k,
        camera.x + right / camera.k,
        camera.y + bottom / camera.k,
      )
      .some((i) => indexed.scene.kind[i] !== OPENED);
  const whole = fit(all, width, height);
  const left = taken(whole, 0, height - legend.height, legend.width, height) ? legend.width - MARGIN / 2 : 0;
  const right = taken(whole, width - corner.width, height - corner.height, width, height)
    ? corner.width - MARGIN / 2
    : 0;
  if (left + right === 0) return whole;
  // The graph moves above the corners or beside them, whichever shows it larger.
  const aside = fit(all, width - left - right, height);
  const lifted = fit(
    all,
    width,
    height - Math.max(left > 0 ? legend.height : 0, right > 0 ? corner.height : 0),
  );
  if (lifted.k > aside.k) return lifted;
  return { x: aside.x - left / aside.k, y: aside.y, k: aside.k };
}

export function fitAll(session: Session, stage: Stage | null): void {
  const indexed = session.scene.peek();
  if (indexed && stage) stage.move(fitClear(indexed, stage), 220);
}
