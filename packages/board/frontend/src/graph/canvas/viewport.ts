/** The camera of a canvas, and its animations. */
import { between, bringIntoView, type Camera, ease, fit, type Rect, zoomAbout } from '../drawing/camera.ts';
import type { MovingBoxes } from './motion.ts';

export const MOVE_MS = 220;
const ZOOM_MS = 140;

interface Motion {
  from: Camera;
  to: Camera;
  start: number;
  duration: number;
  boxes: MovingBoxes | null;
}

export abstract class Viewport {
  camera: Camera = { x: 0, y: 0, k: 1 };
  /** In CSS pixels. */
  width = 0;
  height = 0;
  protected lastMove = 0;
  private motion: Motion | null = null;

  /** Draws the next frame. */
  abstract draw(): void;
  /** Reports that the camera was placed without an animation. */
  protected abstract jumped(): void;

  get ratio(): number {
    return Math.min(2, window.devicePixelRatio || 1);
  }

  /** Boxes that are moving to a new scene; pass them on to a new motion of the camera. */
  get movingBoxes(): MovingBoxes | null {
    return this.motion?.boxes ?? null;
  }

  protected get animating(): boolean {
    return this.motion !== null;
  }

  protected get reducedMotion(): boolean {
    return matchMedia('(prefers-reduced-motion: reduce)').matches;
  }

  /** Moves the camera so that a rectangle is visible; `whole` also zooms in on it. */
  look(rect: Rect, whole: boolean, most = 1.25): void {
    const to = whole
      ? fit(rect, this.width, this.height, 36, most)
      : bringIntoView(this.camera, rect, this.width, this.height);
    this.move(to, MOVE_MS, this.movingBoxes);
  }

  /** Places the camera without an animation. */
  jump(camera: Camera): void {
    this.motion = null;
    this.camera = camera;
    this.jumped();
  }

  move(to: Camera, duration: number, boxes: MovingBoxes | null = null): void {
    if (this.reducedMotion) {
      this.jump(to);
      return;
    }
    this.motion = { from: this.camera, to, start: performance.now(), duration, boxes };
    this.draw();
  }

  zoom(factor: number): void {
    this.move(zoomAbout(this.motion?.to ?? this.camera, this.width / 2, this.height / 2, factor), ZOOM_MS);
  }

  /** The point of the scene under a point of the canvas. */
  toScene(sx: number, sy: number): [number, number] {
    return [this.camera.x + sx / this.camera.k, this.camera.y + sy / this.camera.k];
  }

  /** Changes the size; the centre of the view stays where it is. */
  protected resizeTo(width: number, height: number): void {
    const { x, y, k } = this.camera;
    if (this.width > 0) {
      this.camera = { x: x + (this.width - width) / 2 / k, y: y + (this.height - height) / 2 / k, k };
    }
    this.width = width;
    this.height = height;
  }

  protected cameraMoved(): void {
    this.lastMove = performance.now();
  }

  protected endMotion(): void {
    this.motion = null;
  }

  /** Advances the animation. Returns: the share of it that is over, also eased; null without one. */
  protected advance(): { share: number; eased: number } | null {
    if (!this.motion) return null;
    const { from, to, start, duration } = this.motion;
    const share = Math.min(1, (performance.now() - start) / duration);
    const eased = ease(share);
    this.camera = between(from, to, eased);
    this.cameraMoved();
    if (share >= 1) this.endMotion();
    return { share, eased };
  }
}
