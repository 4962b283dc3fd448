/** What both painters of points are given. */

export interface PointScene {
  /** [n, 3]. */
  positions: Float32Array;
  /** [n, 4], opaque: points are told apart by colour, and dimmed by mixing it with the ground. */
  colours: Uint8Array;
  /** [n]: 0 dimmed, 1 plain, 2 raised above all others. */
  rank: Uint8Array;
  flat: boolean;
  /** Diameter in CSS pixels in the plane of the target. */
  size: number;
  tiles: Tiles | null;
  /** What dimmed points fade into. */
  ground: [number, number, number];
}

export interface Tiles {
  image: ImageBitmap;
  width: number;
  height: number;
  perRow: number;
  /** [n]: which tile each point has. */
  index: Int32Array;
}

export interface PointPainter {
  kind: 'webgl2' | 'canvas';
  /** Pixels of the screen, not of CSS; `moving`: a quick picture will do. */
  draw(
    scene: PointScene,
    matrix: Float32Array,
    width: number,
    height: number,
    ratio: number,
    moving: boolean,
  ): void;
  dispose(): void;
}

export const RAISED_SCALE = 1.5;
export const DIMMED_SCALE = 0.75;

/** Tiles of an image; null if it is too small for even one. */
export function tilesOf(image: ImageBitmap, width: number, height: number, row: Int32Array): Tiles | null {
  const perRow = Math.floor(image.width / width);
  return perRow > 0 && image.height >= height ? { image, width, height, perRow, index: row } : null;
}
