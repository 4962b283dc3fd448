/** Boxes between their old and their new places. */
import type { IndexedScene } from '../scene/indexed_scene.ts';

/** Where each item of a new scene starts from: its old place, or the old place of the group that opened. */
export function startBoxes(
  before: IndexedScene,
  after: IndexedScene,
  dx: number,
  dy: number,
): { old: Float32Array; fresh: Uint8Array } {
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

export function inBetween(
  moving: { old: Float32Array; fresh: Uint8Array },
  goal: Float32Array,
  t: number,
): [Float32Array, Float32Array] {
  const boxes = new Float32Array(goal.length);
  for (let i = 0; i < goal.length; i++) boxes[i] = moving.old[i]! + (goal[i]! - moving.old[i]!) * t;
  const alpha = new Float32Array(moving.fresh.length);
  for (let i = 0; i < alpha.length; i++) alpha[i] = moving.fresh[i] ? t : 1;
  return [boxes, alpha];
}
