/** A camera that orbits a target and shows points within the unit ball. */

export interface Camera {
  /** Rotation about the vertical axis, and tilt, in radians. */
  yaw: number;
  pitch: number;
  zoom: number;
  /** The point at the centre of the picture. */
  target: [number, number, number];
}

export const MOST_PITCH = Math.PI / 2;
const LEAST_ZOOM = 0.2;
const MOST_ZOOM = 400;
const EYE = 3.2;
/** The share of the shorter side that the unit ball fills. */
const FILL = 0.9;

export const frontCamera: Camera = { yaw: 0, pitch: 0, zoom: 1, target: [0, 0, 0] };
export const slantCamera: Camera = { yaw: 0.6, pitch: 0.35, zoom: 1, target: [0, 0, 0] };

export function turned(camera: Camera, yaw: number, pitch: number): Camera {
  const wrapped = camera.yaw + yaw;
  return {
    ...camera,
    yaw: wrapped - 2 * Math.PI * Math.round(wrapped / (2 * Math.PI)),
    pitch: Math.max(-MOST_PITCH, Math.min(MOST_PITCH, camera.pitch + pitch)),
  };
}

export function zoomed(camera: Camera, factor: number): Camera {
  return { ...camera, zoom: Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, camera.zoom * factor)) };
}

/** The axes right, up and towards the camera, as rows. */
export function axesOf({ yaw, pitch }: Camera): [number[], number[], number[]] {
  const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
  return [
    [cy, 0, -sy],
    [-sy * sp, cp, -cy * sp],
    [sy * cp, sp, cy * cp],
  ];
}

/** Moves the target so that the picture moves by pixels. */
export function panned(camera: Camera, dx: number, dy: number, width: number, height: number): Camera {
  const [right, up] = axesOf(camera);
  const scale = 2 / (Math.min(width, height) * FILL * camera.zoom);
  const target = camera.target.map((t, k) => t - (right[k]! * dx - up[k]! * dy) * scale);
  return { ...camera, target: target as Camera['target'] };
}

/** Zooms about a position, in pixels from the centre. */
export function zoomedAt(
  camera: Camera,
  factor: number,
  x: number,
  y: number,
  width: number,
  height: number,
): Camera {
  const next = zoomed(camera, factor);
  const share = 1 - camera.zoom / next.zoom;
  return { ...panned(camera, -x * share, -y * share, width, height), zoom: next.zoom };
}

/**
 * The 4x4 matrix, column by column as WebGL wants it, from space to clip coordinates.
 * Flat: without perspective. Depth is -1 (near) to 1 (far) within the unit ball about the target.
 */
export function matrixOf(
  camera: Camera,
  width: number,
  height: number,
  flat: boolean,
): Float32Array<ArrayBuffer> {
  const [right, up, towards] = axesOf(camera);
  const side = Math.min(width, height) * FILL;
  const sx = (camera.zoom * side) / width;
  const sy = (camera.zoom * side) / height;
  // Zooming scales the picture; the camera stays outside the unit ball.
  const eye = EYE;
  const rows = [
    right.map((v) => v * sx),
    up.map((v) => v * sy),
    towards.map((v) => (flat ? 0 : -v / 4)),
    towards.map((v) => (flat ? 0 : -v / eye)),
  ];
  const matrix = new Float32Array(16);
  rows.forEach((row, r) => {
    for (let c = 0; c < 3; c++) matrix[c * 4 + r] = row[c]!;
    matrix[12 + r] = -(row[0]! * camera.target[0] + row[1]! * camera.target[1] + row[2]! * camera.target[2]);
  });
  matrix[15]! += 1;
  return matrix;
}

export interface Screen {
  x: Float32Array;
  y: Float32Array;
  /** 1 in the plane of the target, more for nearer points, 0 or less behind the camera. */
  scale: Float32Array;
}

/** Pixels of points [n, 3]; the same as what WebGL draws with `matrixOf`. */
export function projectAll(
  points: Float32Array,
  matrix: Float32Array,
  width: number,
  height: number,
  out?: Screen,
): Screen {
  const n = points.length / 3;
  const screen =
    out && out.x.length === n
      ? out
      : { x: new Float32Array(n), y: new Float32Array(n), scale: new Float32Array(n) };
  const m = matrix;
  for (let i = 0, at = 0; i < n; i++, at += 3) {
    const a = points[at]!;
    const b = points[at + 1]!;
    const c = points[at + 2]!;
    const w = m[3]! * a + m[7]! * b + m[11]! * c + m[15]!;
    const inverse = w > 1e-6 ? 1 / w : 0;
    screen.x[i] = ((m[0]! * a + m[4]! * b + m[8]! * c + m[12]!) * inverse * 0.5 + 0.5) * width;
    screen.y[i] = (0.5 - (m[1]! * a + m[5]! * b + m[9]! * c + m[13]!) * inverse * 0.5) * height;
    screen.scale[i] = inverse;
  }
  return screen;
}

const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** `yaw,pitch,zoom[,x,y,z]`, short. */
export const cameraCodec = {
  encode: ({ yaw, pitch, zoom, target }: Camera): string => {
    const numbers = [round(yaw, 3), round(pitch, 3), Number(zoom.toPrecision(5))];
    const moved = target.some((t) => Math.abs(t) >= 0.0005);
    return [...numbers, ...(moved ? target.map((t) => round(t, 5)) : [])].join(',');
  },
  decode: (text: string): Camera | undefined => {
    const numbers = text.split(',').map(Number);
    if ((numbers.length !== 3 && numbers.length !== 6) || !numbers.every(Number.isFinite)) return undefined;
    if (text.split(',').some((part) => part.trim() === '')) return undefined;
    const [yaw = 0, pitch = 0, zoom = 1, x = 0, y = 0, z = 0] = numbers;
    const turnedTo = turned({ yaw: 0, pitch: 0, zoom: 1, target: [x, y, z] }, yaw, pitch);
    return { ...turnedTo, zoom: zoomed({ ...frontCamera, zoom: 1 }, zoom).zoom };
  },
};
