/** The interface of the two point painters. */

export interface PointScene {
  /** [n, 3]. */
  positions: Float32Array;
  /** [n, 4], opaque; dimmed points are mixed with the background. */
  colours: Uint8Array;
  /** [n]: 0 dimmed, 1 plain, 2 raised above all others. */
  rank: Uint8Array;
  flat: boolean;
  /** Diameter in CSS pixels in the plane of the target. */
  size: number;
  tiles: Tiles | null;
  /** The background, with which dimmed points are mixed. */
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
  /** Sizes are in device pixels. While `moving`, the painter may draw fewer points. */
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

/** The tiles of an image; null if it is too small for one. */
export function tilesOf(image: ImageBitmap, width: number, height: number, row: Int32Array): Tiles | null {
  const perRow = Math.floor(image.width / width);
  return perRow > 0 && image.height >= height ? { image, width, height, perRow, index: row } : null;
}
