/** A surface with the state that all drawing functions share: job, scale, current font. */
import type { DrawJob, Surface } from './surface.ts';

/** Text smaller than this many pixels is not drawn. */
export const READABLE = 6.5;

export class Brush {
  readonly s: Surface;
  readonly job: DrawJob;
  /** Left, top, width, height of the items: those of the scene, or of an animation. */
  readonly boxes: Float32Array;
  readonly k: number;
  /** The width of a fine line, in units of the scene. */
  readonly hair: number;
  private font = '';

  constructor(surface: Surface, job: DrawJob, boxes: Float32Array) {
    this.s = surface;
    this.job = job;
    this.boxes = boxes;
    this.k = job.camera.k;
    this.hair = (this.k > 1 ? Math.sqrt(this.k) : 1) / this.k;
  }

  setFont(px: number, weight = 400): void {
    const font = `${weight} ${px}px ${this.job.inks.font}`;
    if (font === this.font) return;
    this.s.font = font;
    this.font = font;
  }

  alphaOf(i: number): number {
    const { lit } = this.job.emphasis;
    return (lit && !lit[i] ? 0.28 : 1) * (this.job.itemAlpha?.[i] ?? 1);
  }

  box(i: number): [number, number, number, number] {
    const { boxes } = this;
    return [boxes[4 * i]!, boxes[4 * i + 1]!, boxes[4 * i + 2]!, boxes[4 * i + 3]!];
  }

  /** The background of the children of an opened group. */
  groundOf(group: number): string {
    const { indexed, inks, paint } = this.job;
    return group < 0 ? inks.ground : paint.openFill(indexed.scene.item[group]!, indexed.scene.depth[group]!);
  }
}
