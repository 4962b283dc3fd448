/** Paints the three layers of the scatter plot: axes, points, and labels with rings. */
import { rgbOf } from '../../picture/label_colours.ts';
import { type Camera, matrixOf, projectAll, type Screen } from '../../scene/orbit_camera.ts';
import { safeText } from '../../strings/safe_text.ts';
import { colour } from '../../style/theme.ts';
import { labelOf } from '../data/projector_data.ts';
import { DIMMED_SCALE, type PointPainter, RAISED_SCALE, type Tiles } from '../points/point_scene.ts';
import type { Drawn } from '../projection/projection.ts';
import type { Box } from './point_hit.ts';
import {
  drawAxes,
  drawBox,
  drawLabels,
  drawRing,
  type Label,
  type OverlayColours,
} from './scatter_overlay.ts';

const MOST_LABELS = 220;

/** What the plot shows. Points are numbered as in the table; `drawn.index` maps places in the picture to them. */
export interface ScatterPicture {
  drawn: Drawn | null;
  colours: Uint8Array;
  rank: Uint8Array;
  tiles: Tiles | null;
  camera: Camera;
  hovered: number | null;
  focused: number | null;
  /** Points that stand out, most important first. */
  raised: number[];
  /** Whether every point has a label while none stands out. */
  allLabels: boolean;
  axisNames: string[];
  box: Box | null;
}

/** Canvases from bottom to top, all of the same size. */
export interface Layers {
  below: HTMLCanvasElement;
  points: HTMLCanvasElement;
  above: HTMLCanvasElement;
}

export interface PaintedScatter {
  screen: Screen;
  labels: number;
}

/** Returns: the table's number of the point at a place in the picture. */
export function pointIndex(drawn: Drawn, at: number): number {
  return drawn.index ? drawn.index[at]! : at;
}

/**
 * Paints a picture.
 *
 * Args:
 *   moving: whether the camera moves now; the painter may then draw fewer points.
 *   reuse: arrays of an earlier picture that may be written over.
 * Returns: where the points are; null if the colours do not belong to the drawn points yet.
 */
export function paintScatter(
  layers: Layers,
  painter: PointPainter | null,
  picture: ScatterPicture,
  width: number,
  height: number,
  moving: boolean,
  reuse: Screen | undefined,
): PaintedScatter | null {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  for (const canvas of [layers.below, layers.points, layers.above]) {
    if (canvas.width === w && canvas.height === h) continue;
    canvas.width = w;
    canvas.height = h;
  }
  const inks = overlayColours();
  const under = cleared(layers.below, ratio, width, height);
  const over = cleared(layers.above, ratio, width, height);
  const { drawn, colours, rank, tiles, camera, axisNames } = picture;
  const n = drawn ? drawn.positions.length / 3 : 0;
  if (!drawn || n * 4 !== colours.length) {
    layers.points.width = w; // clears it, whatever kind of context it has
    return null;
  }
  const { flat, positions } = drawn;
  // The axes of a flat layout have no meaning; in three dimensions they show the viewing direction.
  if (!flat || axisNames.length > 0) drawAxes(under, camera, width, height, flat, axisNames, inks);
  const size = pointSize(n, camera.zoom, tiles !== null, Math.min(width, height));
  const matrix = matrixOf(camera, width, height, flat);
  const scene = { positions, colours, rank, flat, size, tiles, ground: rgbOf(inks.ground) };
  painter?.draw(scene, matrix, w, h, ratio, moving);
  const screen = projectAll(positions, matrix, width, height, reuse);
  const placeOf = placesOf(drawn);
  drawRings(over, picture, placeOf, screen, size, inks);
  const labels = drawLabels(
    over,
    labelsOf(picture, drawn, placeOf),
    screen,
    width,
    height,
    MOST_LABELS,
    size * 0.8 + 5,
    inks,
  );
  if (picture.box) drawBox(over, picture.box, inks.accent);
  return { screen, labels };
}

/** Returns: all layers as one canvas, on the background of the page. */
export function flattened({ below, points, above }: Layers): HTMLCanvasElement {
  const whole = document.createElement('canvas');
  whole.width = below.width;
  whole.height = below.height;
  const on = whole.getContext('2d')!;
  on.fillStyle = colour('surface');
  on.fillRect(0, 0, whole.width, whole.height);
  for (const layer of [below, points, above]) on.drawImage(layer, 0, 0);
  return whole;
}

function cleared(canvas: HTMLCanvasElement, ratio: number, width: number, height: number) {
  const on = canvas.getContext('2d')!;
  on.setTransform(ratio, 0, 0, ratio, 0, 0);
  on.clearRect(0, 0, width, height);
  return on;
}

/** The diameter of a point in CSS pixels: smaller in a crowd, larger as the camera zooms in. */
function pointSize(n: number, zoom: number, tiled: boolean, side: number): number {
  const crowd = Math.sqrt((side * side) / Math.max(40, n));
  const plain = Math.max(2.8, Math.min(7.5, crowd * 0.26)) * zoom ** 0.3;
  return tiled ? Math.max(12, Math.min(40, crowd * 0.6)) * zoom ** 0.5 : plain;
}

type PlaceOf = (point: number) => number | undefined;

/** Returns: a function from points of the table to their places in the picture. */
function placesOf(drawn: Drawn): PlaceOf {
  if (!drawn.index) return (point) => point;
  const places = new Map<number, number>();
  for (const [at, point] of drawn.index.entries()) places.set(point, at);
  return (point) => places.get(point);
}

function labelsOf(
  { hovered, focused, raised, allLabels }: ScatterPicture,
  drawn: Drawn,
  placeOf: PlaceOf,
): Label[] {
  const labels: Label[] = [];
  const seen = new Set<number>();
  const add = (at: number | undefined, text: string, strong: boolean) => {
    if (at === undefined || seen.has(at)) return;
    seen.add(at);
    labels.push({ at, text, strong });
  };
  for (const [i, point] of [hovered, focused, ...raised].entries()) {
    if (point !== null) add(placeOf(point), safeText(labelOf(point), 60), i < 2);
  }
  if (!allLabels || raised.length > 0) return labels;
  const n = drawn.positions.length / 3;
  for (let at = 0; at < n; at++) add(at, safeText(labelOf(pointIndex(drawn, at)), 40), false);
  return labels;
}

function drawRings(
  on: CanvasRenderingContext2D,
  { hovered, focused, rank, tiles }: ScatterPicture,
  placeOf: PlaceOf,
  screen: Screen,
  size: number,
  inks: OverlayColours,
): void {
  for (const [point, ink] of [
    [hovered, inks.soft],
    [focused, inks.text],
  ] as const) {
    const at = point === null ? undefined : placeOf(point);
    if (at === undefined) continue;
    const scale = screen.scale[at]! * (rank[at] === 2 ? RAISED_SCALE : rank[at] === 0 ? DIMMED_SCALE : 1);
    drawRing(on, screen, at, (size * scale) / 2 + 3, ink, inks.ground, tiles !== null);
  }
}

function overlayColours(): OverlayColours {
  return {
    ground: colour('surface'),
    line: colour('line'),
    text: colour('text'),
    soft: colour('text-soft'),
    accent: colour('accent'),
    font: 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
  };
}
