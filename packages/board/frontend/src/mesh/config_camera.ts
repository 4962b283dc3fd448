/** The first camera of a mesh, from a scene configuration of three.js. */
import { type Camera, slantCamera, turned } from '../scene/orbit_camera.ts';

type Vector = [number, number, number];

/** The camera at `camera.position` of a configuration; the default camera without one. */
export function cameraOfConfig(config: Record<string, unknown> | undefined): Camera {
  const found = config?.camera;
  if (typeof found !== 'object' || found === null) return slantCamera;
  const camera = found as Record<string, unknown>;
  const position = vectorOf(camera.position);
  if (!position) return slantCamera;
  const target = vectorOf(camera.target) ?? vectorOf(camera.lookAt) ?? [0, 0, 0];
  const [x, y, z] = position.map((value, k) => value - target[k]!) as Vector;
  const distance = Math.hypot(x, y, z);
  if (!(distance > 0)) return slantCamera;
  const front: Camera = { yaw: 0, pitch: 0, zoom: 1, target: [0, 0, 0] };
  return turned(front, Math.atan2(x, z), Math.asin(y / distance));
}

/** Of `[x, y, z]` or `{x, y, z}`. */
function vectorOf(value: unknown): Vector | null {
  if (typeof value !== 'object' || value === null) return null;
  const { x, y, z } = value as Record<string, unknown>;
  const list = Array.isArray(value) ? value.slice(0, 3) : [x, y, z];
  return list.length === 3 && list.every(Number.isFinite) ? (list as Vector) : null;
}
