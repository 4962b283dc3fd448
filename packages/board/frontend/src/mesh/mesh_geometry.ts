/** Meshes as arrays: bounds, normals, edges. */

export interface Geometry {
  /** [n, 3]. */
  vertices: Float32Array;
  /** [m, 3] indices of vertices. */
  faces: Int32Array;
  /** [n, 3] of 0 to 255, or empty. */
  colors: Uint8Array;
}

export interface Fit {
  middle: [number, number, number];
  radius: number;
}

/** The bounding ball of the box of all finite vertices. */
export function fitOf(vertices: Float32Array): Fit {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < vertices.length; i++) {
    const value = vertices[i]!;
    if (value < low[i % 3]!) low[i % 3] = value;
    if (value > high[i % 3]!) high[i % 3] = value;
  }
  if (!low.every(Number.isFinite)) return { middle: [0, 0, 0], radius: 1 };
  const middle = low.map((value, k) => (value + high[k]!) / 2) as Fit['middle'];
  let square = 0;
  for (let i = 0; i + 2 < vertices.length; i += 3) {
    const d =
      (vertices[i]! - middle[0]) ** 2 +
      (vertices[i + 1]! - middle[1]) ** 2 +
      (vertices[i + 2]! - middle[2]) ** 2;
    if (d > square) square = d;
  }
  return { middle, radius: Math.sqrt(square) || 1 };
}

/** The ball that contains two others, so that a mesh that grows from step to step looks larger. */
export function joined(a: Fit | null, b: Fit): Fit {
  if (!a) return b;
  const between = b.middle.map((v, k) => v - a.middle[k]!);
  const distance = Math.hypot(...between);
  if (distance + b.radius <= a.radius) return a;
  if (distance + a.radius <= b.radius) return b;
  const radius = (distance + a.radius + b.radius) / 2;
  const share = (radius - a.radius) / distance;
  return { middle: a.middle.map((v, k) => v + between[k]! * share) as Fit['middle'], radius };
}

/** The vertices, scaled into the unit ball. */
export function fitted(vertices: Float32Array, { middle, radius }: Fit): Float32Array<ArrayBuffer> {
  const out = new Float32Array(vertices.length);
  for (let i = 0; i < out.length; i++) out[i] = (vertices[i]! - middle[i % 3]!) / radius;
  return out;
}

/** Unit normals of vertices [n, 3]: the mean of the faces around each, weighted by their area. */
export function normalsOf(vertices: Float32Array, faces: Int32Array): Float32Array<ArrayBuffer> {
  const out = new Float32Array(vertices.length);
  for (let f = 0; f + 2 < faces.length; f += 3) {
    const [a, b, c] = [faces[f]! * 3, faces[f + 1]! * 3, faces[f + 2]! * 3];
    const ux = vertices[b]! - vertices[a]!;
    const uy = vertices[b + 1]! - vertices[a + 1]!;
    const uz = vertices[b + 2]! - vertices[a + 2]!;
    const vx = vertices[c]! - vertices[a]!;
    const vy = vertices[c + 1]! - vertices[a + 1]!;
    const vz = vertices[c + 2]! - vertices[a + 2]!;
    const normal = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    for (const at of [a, b, c]) for (let k = 0; k < 3; k++) out[at + k]! += normal[k]!;
  }
  for (let i = 0; i + 2 < out.length; i += 3) {
    const length = Math.hypot(out[i]!, out[i + 1]!, out[i + 2]!) || 1;
    for (let k = 0; k < 3; k++) out[i + k]! /= length;
  }
  return out;
}

/** Pairs of vertices [e, 2] that are an edge of a face, each once. */
export function edgesOf(faces: Int32Array, vertices: number): Int32Array {
  const seen = new Set<number>();
  for (let f = 0; f + 2 < faces.length; f += 3) {
    for (let k = 0; k < 3; k++) {
      const a = faces[f + k]!;
      const b = faces[f + ((k + 1) % 3)]!;
      if (a !== b) seen.add(Math.min(a, b) * vertices + Math.max(a, b));
    }
  }
  const out = new Int32Array(seen.size * 2);
  let at = 0;
  for (const key of seen) {
    out[at++] = Math.floor(key / vertices);
    out[at++] = key % vertices;
  }
  return out;
}

/** The brightness of a face or a vertex, 0 to 1, with light from the upper left; both sides are lit equally. */
export function lightOn(x: number, y: number, z: number): number {
  return 0.42 + 0.58 * Math.abs(x * LIGHT[0] + y * LIGHT[1] + z * LIGHT[2]);
}

/** In view coordinates: right, up, towards the viewer. */
export const LIGHT = [-0.32, 0.48, 0.817] as const;
