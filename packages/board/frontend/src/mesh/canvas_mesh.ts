/** Paints meshes without a GPU: faces from far to near with flat shading. */
import { projectAll } from '../scene/orbit_camera.ts';
import { lightOn } from './mesh_geometry.ts';
import type { MeshPainter, MeshScene } from './mesh_scene.ts';

const MOST_EDGES = 60_000;

export const canvasMeshPainter: MeshPainter = {
  kind: 'canvas',
  draw(on, scene, mode, matrix, axes, width, height, ratio) {
    const screen = projectAll(scene.positions, matrix, width, height);
    const { x, y, scale } = screen;
    const { colours } = scene;
    if (mode === 'points') {
      for (const i of farToNear(scale)) {
        if (scale[i]! <= 0) continue;
        const size = Math.max(1, 3.5 * ratio * scale[i]!);
        on.fillStyle = `rgb(${colours[i * 3]!}, ${colours[i * 3 + 1]!}, ${colours[i * 3 + 2]!})`;
        on.fillRect(x[i]! - size / 2, y[i]! - size / 2, size, size);
      }
      return;
    }
    if (mode === 'wireframe') {
      const edges = scene.edges();
      const stride = Math.ceil(edges.length / 2 / MOST_EDGES);
      on.lineWidth = Math.max(1, ratio * 0.8);
      for (let e = 0; e + 1 < edges.length; e += 2 * stride) {
        const [a, b] = [edges[e]!, edges[e + 1]!];
        if (scale[a]! <= 0 || scale[b]! <= 0) continue;
        on.strokeStyle = `rgb(${colours[a * 3]!}, ${colours[a * 3 + 1]!}, ${colours[a * 3 + 2]!})`;
        on.beginPath();
        on.moveTo(x[a]!, y[a]!);
        on.lineTo(x[b]!, y[b]!);
        on.stroke();
      }
      return;
    }
    paintFaces(on, scene, x, y, scale, axes);
  },
};

function paintFaces(
  on: CanvasRenderingContext2D,
  { geometry: { faces }, positions, colours }: MeshScene,
  x: Float32Array,
  y: Float32Array,
  scale: Float32Array,
  axes: [number[], number[], number[]],
): void {
  const count = faces.length / 3;
  const depth = new Float32Array(count);
  for (let f = 0; f < count; f++) {
    depth[f] = scale[faces[f * 3]!]! + scale[faces[f * 3 + 1]!]! + scale[faces[f * 3 + 2]!]!;
  }
  on.lineWidth = 0.7;
  for (const f of farToNear(depth)) {
    const [a, b, c] = [faces[f * 3]!, faces[f * 3 + 1]!, faces[f * 3 + 2]!];
    if (scale[a]! <= 0 || scale[b]! <= 0 || scale[c]! <= 0) continue;
    const normal = faceNormal(positions, a, b, c);
    const [right, up, towards] = axes.map((axis) => axis.reduce((sum, v, k) => sum + v * normal[k]!, 0));
    const light = lightOn(right!, up!, towards!) / 3;
    const rgb = [0, 1, 2].map((k) =>
      Math.round((colours[a * 3 + k]! + colours[b * 3 + k]! + colours[c * 3 + k]!) * light),
    );
    on.fillStyle = on.strokeStyle = `rgb(${rgb[0]}, ${rgb[1]}, ${rgb[2]})`;
    on.beginPath();
    on.moveTo(x[a]!, y[a]!);
    on.lineTo(x[b]!, y[b]!);
    on.lineTo(x[c]!, y[c]!);
    on.closePath();
    on.fill();
    on.stroke(); // closes the seams between neighbours
  }
}

function faceNormal(p: Float32Array, a: number, b: number, c: number): number[] {
  const u = [0, 1, 2].map((k) => p[b * 3 + k]! - p[a * 3 + k]!);
  const v = [0, 1, 2].map((k) => p[c * 3 + k]! - p[a * 3 + k]!);
  const n = [u[1]! * v[2]! - u[2]! * v[1]!, u[2]! * v[0]! - u[0]! * v[2]!, u[0]! * v[1]! - u[1]! * v[0]!];
  const length = Math.hypot(...n) || 1;
  return n.map((value) => value / length);
}

function farToNear(depth: Float32Array): Uint32Array {
  return Uint32Array.from(depth, (_, i) => i).sort((a, b) => depth[a]! - depth[b]!);
}
