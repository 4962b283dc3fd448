/** Boxes on their way from an old scene to a new one. */
import type { IndexedScene } from '../scene/indexed_scene.ts';

export interface MovingBoxes {
  /** Left, top, width, height of each item in the old scene. */
  old: Float32Array;
  /** 1 for items that are not in the old scene. */
  fresh: Uint8Array;
}

/** Returns: the old box of each item; new items start within the old box of the group that opened. */
export function startBoxes(before: IndexedScene, after: IndexedScene, dx: number, dy: number): MovingBoxes {
  const { scene } = after;
  const n = scene.item.length;
  const old = new Float32Array(4 * n);
  const fresh = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const was = before.indexOf.get(scene.item[i]!);
    if (was !== undefined) {
      const r = before.rect(was);
      old.set([r.x + dx, r.y + dy, r.w, r.h], 4 * i);
      continue;
    }
    fresh[i] = 1;
    const parent = scene.parent[i]!;
    if (parent < 0) {
      old.set(scene.box.subarray(4 * i, 4 * i + 4), 4 * i);
      continue;
    }
    // The same part of the parent's old box.
    const p = after.rect(parent);
    const share = [scene.box[4 * i]! - p.x, scene.box[4 * i + 1]! - p.y];
    const [ox, oy, ow, oh] = old.subarray(4 * parent, 4 * parent + 4) as unknown as number[];
    const sx = ow! / p.w;
    const sy = oh! / p.h;
    old.set(
      [ox! + share[0]! * sx, oy! + share[1]! * sy, scene.box[4 * i + 2]! * sx, scene.box[4 * i + 3]! * sy],
      4 * i,
    );
  }
  return { old, fresh };
}

/** Returns: boxes and opacities part of the way to the new boxes. `eased` is the eased share of the time. */
export function inBetween(
  moving: MovingBoxes,
  goal: Float32Array,
  eased: number,
  share: number,
): { boxes: Float32Array; itemAlpha: Float32Array; edgeAlpha: number } {
  const boxes = new Float32Array(goal.length);
  for (let i = 0; i < goal.length; i++) boxes[i] = moving.old[i]! + (goal[i]! - moving.old[i]!) * eased;
  const itemAlpha = Float32Array.from(moving.fresh, (fresh) => (fresh ? eased : 1));
  return { boxes, itemAlpha, edgeAlpha: Math.max(0, 2 * share - 1) };
}
