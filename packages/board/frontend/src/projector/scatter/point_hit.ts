/** Finds points by their position on the screen. */
import type { Screen } from '../../scene/orbit_camera.ts';

/** Two opposite corners: x, y, x, y in CSS pixels. */
export type Box = [number, number, number, number];

/** Returns: the point nearest to a position on the screen within `reach` pixels, or null. */
export function pointAt(
  screen: Screen,
  rank: Uint8Array,
  x: number,
  y: number,
  reach: number,
): number | null {
  let found: number | null = null;
  let best = reach;
  for (let i = 0; i < screen.x.length; i++) {
    if (screen.scale[i]! <= 0) continue;
    const distance = Math.hypot(screen.x[i]! - x, screen.y[i]! - y);
    if (distance > reach) continue;
    // A highlighted point, or one nearer to the viewer, wins over one slightly closer to the pointer.
    const score = distance - rank[i]! * 2 - screen.scale[i]!;
    if (score < best) {
      best = score;
      found = i;
    }
  }
  return found;
}

/** Returns: the points within a box of the screen. */
export function pointsIn(screen: Screen, [x0, y0, x1, y1]: Box): number[] {
  const [left, right, top, bottom] = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
  const found: number[] = [];
  for (let i = 0; i < screen.x.length; i++) {
    const px = screen.x[i]!;
    const py = screen.y[i]!;
    if (screen.scale[i]! > 0 && px >= left && px <= right && py >= top && py <= bottom) found.push(i);
  }
  return found;
}
