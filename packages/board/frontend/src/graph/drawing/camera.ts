/** The visible part of the scene: screen = (scene - origin) * scale. */

export interface Camera {
  x: number;
  y: number;
  k: number;
}

export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

export const LEAST_SCALE = 0.0008;
export const MOST_SCALE = 6;

export function clampScale(k: number): number {
  return Math.min(MOST_SCALE, Math.max(LEAST_SCALE, k));
}

/** Zooms about a point of the screen, which keeps showing the same point of the scene. */
export function zoomAbout(camera: Camera, sx: number, sy: number, factor: number): Camera {
  const k = clampScale(camera.k * factor);
  return { x: camera.x + sx / camera.k - sx / k, y: camera.y + sy / camera.k - sy / k, k };
}

export function fit(rect: Rect, width: number, height: number, margin = 32, most = 1.25): Camera {
  const k = clampScale(
    Math.min(most, (width - 2 * margin) / Math.max(1, rect.w), (height - 2 * margin) / Math.max(1, rect.h)),
  );
  return { x: rect.x + rect.w / 2 - width / 2 / k, y: rect.y + rect.h / 2 - height / 2 / k, k };
}

/** The camera that shows a rectangle whole, moved and zoomed out no more than that needs. */
export function bringIntoView(
  camera: Camera,
  rect: Rect,
  width: number,
  height: number,
  margin = 28,
): Camera {
  const k = Math.min(camera.k, fit(rect, width, height, margin, camera.k).k);
  const zoomed = k < camera.k ? zoomAbout(camera, width / 2, height / 2, k / camera.k) : camera;
  const room = margin / k;
  let { x, y } = zoomed;
  x = Math.min(x, rect.x - room);
  x = Math.max(x, rect.x + rect.w + room - width / k);
  y = Math.min(y, rect.y - room);
  y = Math.max(y, rect.y + rect.h + room - height / k);
  return { x, y, k };
}

export function between(a: Camera, b: Camera, t: number): Camera {
  const k = a.k * (b.k / a.k) ** t;
  // Linear in the inverse scale, so that the fixed point of the zoom stays where it is.
  const s = Math.abs(b.k - a.k) < 1e-6 * a.k ? t : (1 / k - 1 / a.k) / (1 / b.k - 1 / a.k);
  return { x: a.x + (b.x - a.x) * s, y: a.y + (b.y - a.y) * s, k };
}

export function ease(t: number): number {
  return t < 0.5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2;
}
