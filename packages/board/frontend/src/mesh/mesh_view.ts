/** Mode and cameras of meshes, in the address. */

import { choice, list } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import { type Camera, cameraCodec } from '../scene/orbit_camera.ts';
import type { MeshMode } from './mesh_scene.ts';

export const meshMode = urlSignal<MeshMode>('ms', choice('surface', 'wireframe', 'points'), 'surface');

/** The most cameras in an address; the last turned ones are kept. */
const MOST_CAMERAS = 12;

/** Pairs of a card's id and its camera, the last turned one at the end; without cards that were not turned. */
const cameras = urlSignal('mc', list, []);

/** null if it was not turned. */
export function cameraOf(card: string): Camera | null {
  const at = cameras.value.indexOf(card);
  return (at >= 0 && at % 2 === 0 && cameraCodec.decode(cameras.value[at + 1] ?? '')) || null;
}

/** null resets it. */
export function setCamera(card: string, camera: Camera | null): void {
  const rest: string[] = [];
  for (let i = 0; i + 1 < cameras.value.length; i += 2) {
    if (cameras.value[i] !== card) rest.push(cameras.value[i]!, cameras.value[i + 1]!);
  }
  const all = camera ? [...rest, card, cameraCodec.encode(camera)] : rest;
  cameras.value = all.slice(-2 * MOST_CAMERAS);
}
