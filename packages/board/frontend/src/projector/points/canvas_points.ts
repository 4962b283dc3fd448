/** Paints points without a GPU: from far to near, as copies of discs that are drawn once. */
import { projectAll, type Screen } from '../../scene/orbit_camera.ts';
import { DIMMED_SCALE, type PointPainter, RAISED_SCALE } from './point_scene.ts';

const LEVELS = 512;
/** The most points that are drawn while the camera moves. */
const MOST_MOVING = 20_000;
const MOST_DISCS = 4000;

export function canvasPainter(canvas: HTMLCanvasElement): PointPainter | null {
  const on = canvas.getContext('2d');
  if (!on) return null;
  const discs = new Map<number, HTMLCanvasElement>();
  let screen: Screen | undefined;

  function disc(rgb: number, diameter: number): HTMLCanvasElement {
    const key = rgb * 128 + diameter;
    let disc = discs.get(key);
    if (!disc) {
      if (discs.size > MOST_DISCS) discs.clear();
      disc = document.createElement('canvas');
      disc.width = disc.height = diameter + 2;
      const pen = disc.getContext('2d')!;
      pen.fillStyle = `#${rgb.toString(16).padStart(6, '0')}`;
      pen.beginPath();
      pen.arc(diameter / 2 + 1, diameter / 2 + 1, diameter / 2, 0, 2 * Math.PI);
      pen.fill();
      discs.set(key, disc);
    }
    return disc;
  }

  return {
    kind: 'canvas',
    draw(scene, matrix, width, height, ratio, moving) {
      const n = scene.positions.length / 3;
      screen = projectAll(scene.positions, matrix, width, height, screen);
      const { x, y, scale } = screen;
      on.clearRect(0, 0, width, height);
      const { colours, rank, tiles } = scene;
      const stride = moving ? Math.max(1, Math.ceil(n / MOST_MOVING)) : 1;
      const order = scene.flat ? byRank(rank, n) : byDepth(scale, rank, n);
      for (const i of order) {
        if (stride > 1 && i % stride && rank[i] !== 2) continue;
        if (scale[i]! <= 0) continue;
        const raised = rank[i] === 2 ? RAISED_SCALE : rank[i] === 1 ? 1 : DIMMED_SCALE;
        const size = Math.max(1.5 * ratio, Math.min(96 * ratio, scene.size * ratio * raised * scale[i]!));
        const px = x[i]!;
        const py = y[i]!;
        if (px < -size || py < -size || px > width + size || py > height + size) continue;
        const rgb = (colours[i * 4]! << 16) | (colours[i * 4 + 1]! << 8) | colours[i * 4 + 2]!;
        if (tiles) {
          const tile = tiles.index[i]!;
          on.fillStyle = `#${rgb.toString(16).padStart(6, '0')}`;
          const edge = Math.max(1, size * 0.06);
          on.fillRect(px - size / 2, py - size / 2, size, size);
          on.globalAlpha = rank[i] === 0 ? 0.28 : 1;
          on.drawImage(
            tiles.image,
            (tile % tiles.perRow) * tiles.width,
            Math.floor(tile / tiles.perRow) * tiles.height,
            tiles.width,
            tiles.height,
            px - size / 2 + edge,
            py - size / 2 + edge,
            size - 2 * edge,
            size - 2 * edge,
          );
          on.globalAlpha = 1;
          continue;
        }
        const diameter = Math.max(2, Math.min(127, Math.round(size)));
        on.drawImage(disc(rgb, diameter), px - diameter / 2 - 1, py - diameter / 2 - 1);
      }
    },
    dispose() {
      discs.clear();
    },
  };
}

function byRank(rank: Uint8Array, n: number): Int32Array {
  return byKey(Uint16Array.from(rank), n, 3);
}

function byDepth(scale: Float32Array, rank: Uint8Array, n: number): Int32Array {
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < n; i++) {
    if (scale[i]! < least) least = scale[i]!;
    if (scale[i]! > most) most = scale[i]!;
  }
  const span = most - least || 1;
  const key = new Uint16Array(n);
  for (let i = 0; i < n; i++) {
    key[i] = rank[i]! * LEVELS + Math.floor(((scale[i]! - least) / span) * (LEVELS - 1));
  }
  return byKey(key, n, 3 * LEVELS);
}

/** Indices in order of small integer keys, by a stable counting sort. */
function byKey(key: Uint16Array, n: number, keys: number): Int32Array {
  const start = new Int32Array(keys + 1);
  for (let i = 0; i < n; i++) start[key[i]! + 1]!++;
  for (let k = 0; k < keys; k++) start[k + 1]! += start[k]!;
  const order = new Int32Array(n);
  for (let i = 0; i < n; i++) order[start[key[i]!]!++] = i;
  return order;
}
