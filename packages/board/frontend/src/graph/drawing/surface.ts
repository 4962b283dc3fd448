/** The input of the drawing functions: a surface, and a job with the scene and its colours. */
import type { GraphModel } from '../model/graph_model.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import type { Camera } from './camera.ts';
import type { Paint } from './paint.ts';

/** The part of a 2-D context that the drawing uses. */
export interface Surface {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  lineCap: CanvasLineCap;
  beginPath(): void;
  closePath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void;
  roundRect(x: number, y: number, w: number, h: number, radius: number): void;
  fillRect(x: number, y: number, w: number, h: number): void;
  fill(): void;
  stroke(): void;
  fillText(text: string, x: number, y: number): void;
  setLineDash(dash: number[]): void;
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
}

export interface Inks {
  ground: string;
  text: string;
  soft: string;
  faint: string;
  edge: string;
  control: string;
  /** Edges that are not emphasised; opaque, because such lines overlap. */
  edgeFaint: string;
  accent: string;
  strip: string;
  line: string;
  font: string;
}

/** The emphasis of a selection. */
export interface Emphasis {
  /** Emphasised items, by index; others are drawn faint. null draws all alike. */
  lit: Uint8Array | null;
  /** Pieces of edges (by index) that are drawn in the accent colour. */
  bright: Set<number> | null;
}

export interface DrawJob {
  model: GraphModel;
  indexed: IndexedScene;
  paint: Paint;
  inks: Inks;
  camera: Camera;
  /** In CSS pixels. */
  width: number;
  height: number;
  ratio: number;
  emphasis: Emphasis;
  label: (item: number) => string;
  textWidth: (text: string) => number;
  /** Boxes in place of those of the scene, during an animation. */
  boxes?: Float32Array;
  edgeAlpha?: number;
  /** Opacities of items that fade in; 1 for items of the old scene. */
  itemAlpha?: Float32Array;
}
