/** How meshes are looked at; in the address. */

import { type Camera, cameraCodec, slantCamera } from '../projector/orbit_camera.ts';
import { choice, list } from '../state/url_codec.ts';
import { urlSignal } from '../state/url_state.ts';
import type { MeshMode } from './mesh_scene.ts';

export const meshMode = urlSignal<MeshMode>('ms', choice('surface', 'wireframe', 'points'), 'surface');

/** Pairs of a card's id and its camera; cards that were not turned are not in it. */
const cameras = urlSignal('mc', list, []);

export function cameraOf(card: string): Camera {
  const at = cameras.value.indexOf(card);
  return (at >= 0 && at % 2 === 0 && cameraCodec.decode(cameras.value[at + 1] ?? '')) || slantCamera;
}

export function setCamera(card: string, camera: Camera): void {
  const rest: string[] = [];
  for (let i = 0; i + 1 < cameras.value.length; i += 2) {
    if (cameras.value[i] !== card) rest.push(cameras.value[i]!, cameras.value[i + 1]!);
  }
  const text = cameraCodec.encode(camera);
  cameras.value = text === cameraCodec.encode(slantCamera) ? rest : [...rest, card, text];
}
