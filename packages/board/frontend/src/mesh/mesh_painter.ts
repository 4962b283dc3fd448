/** The painter that all mesh cards share: browsers allow few WebGL contexts on a page. */
import { signal } from '@preact/signals';
import { canvasMeshPainter } from './canvas_mesh.ts';
import type { MeshPainter } from './mesh_scene.ts';
import { webglMeshPainter } from './webgl_mesh.ts';

let shared: MeshPainter | null = null;
/** Grows when another painter takes over and all meshes must be painted anew. */
export const painterChanges = signal(0);

/** Returns: the WebGL painter; the plain canvas painter without WebGL, or once its context is lost. */
export function meshPainter(): MeshPainter {
  shared ??=
    webglMeshPainter(() => {
      shared = canvasMeshPainter;
      painterChanges.value++;
    }) ?? canvasMeshPainter;
  return shared;
}
