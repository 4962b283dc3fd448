/** The interface of the two mesh painters. */
import { edgesOf, type Fit, fitted, type Geometry, normalsOf } from './mesh_geometry.ts';

export type MeshMode = 'surface' | 'wireframe' | 'points';

export interface MeshScene {
  geometry: Geometry;
  positions: Float32Array<ArrayBuffer>;
  normals: Float32Array<ArrayBuffer>;
  /** [n, 3] of 0 to 255. */
  colours: Uint8Array;
  edges: () => Int32Array;
}

export function sceneOf(geometry: Geometry, fit: Fit, plain: [number, number, number]): MeshScene {
  const n = geometry.vertices.length / 3;
  let edges: Int32Array | null = null;
  let colours = geometry.colors;
  if (colours.length !== n * 3) {
    colours = new Uint8Array(n * 3);
    for (let i = 0; i < n; i++) colours.set(plain, i * 3);
  }
  const positions = fitted(geometry.vertices, fit);
  return {
    geometry,
    positions,
    normals: normalsOf(positions, geometry.faces),
    colours,
    edges: () => {
      edges ??= edgesOf(geometry.faces, n);
      return edges;
    },
  };
}

/** The mode for a mesh; one without faces is drawn as points. */
export const modeOf = (requested: MeshMode, geometry: Geometry): MeshMode =>
  geometry.faces.length === 0 ? 'points' : requested;

export interface MeshPainter {
  kind: 'webgl2' | 'canvas';
  /** Paints on a cleared canvas. Width and height are in device pixels. */
  draw(
    on: CanvasRenderingContext2D,
    scene: MeshScene,
    mode: MeshMode,
    matrix: Float32Array,
    axes: [number[], number[], number[]],
    width: number,
    height: number,
    ratio: number,
  ): void;
}
