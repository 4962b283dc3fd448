/** A bitmap of the picture that follows the camera while a sharp one is drawn in time slices. */
import type { Camera } from '../drawing/camera.ts';
import { drawScene } from '../drawing/draw_scene.ts';
import type { DrawJob } from '../drawing/surface.ts';

/** Time for drawing within one frame; twice that while the camera rests. */
const SLICE_MS = 7;
/** The user waits for the first picture, so it gets a long slice. */
const FIRST_SLICE_MS = 120;
/** Drawn around the view, as a share of it, so that a small pan shows no blank border. */
const MARGIN = 0.3;

/** The view of one frame. */
export interface View {
  camera: Camera;
  /** In CSS pixels. */
  width: number;
  height: number;
  ratio: number;
}

export class CachedPicture {
  private readonly bitmap = document.createElement('canvas');
  private readonly nextBitmap = document.createElement('canvas');
  private camera: Camera | null = null;
  private valid = false;
  private work: { steps: Generator<void>; camera: Camera; spentMs: number } | null = null;

  /** Whether a new bitmap is being drawn. */
  get busy(): boolean {
    return this.work !== null;
  }

  /** Abandons the bitmap that is being drawn. */
  abandon(): void {
    this.work = null;
  }

  /** The content has changed: the bitmap still shows until a new one is complete. */
  invalidate(): void {
    this.work = null;
    this.valid = false;
  }

  /** Whether the bitmap shows just what the camera sees. */
  matches(camera: Camera): boolean {
    return this.camera !== null && sameCamera(this.camera, camera);
  }

  /** Whether a new bitmap must be drawn for a view. */
  isStale({ camera, width, height }: View, resting: boolean): boolean {
    if (this.work) return false;
    if (!this.valid || !this.camera) return true;
    if (sameCamera(this.camera, camera)) return false;
    return resting || !covers(this.camera, camera, width, height);
  }

  /** Starts a new bitmap. `jobFor` makes the job for a camera and a size. */
  begin(view: View, jobFor: (camera: Camera, width: number, height: number) => DrawJob): void {
    const { camera, width, height, ratio } = view;
    const wide = Math.ceil(width * (1 + 2 * MARGIN));
    const high = Math.ceil(height * (1 + 2 * MARGIN));
    this.nextBitmap.width = wide * ratio;
    this.nextBitmap.height = high * ratio;
    const shifted = {
      x: camera.x - (width * MARGIN) / camera.k,
      y: camera.y - (height * MARGIN) / camera.k,
      k: camera.k,
    };
    const steps = drawScene(this.nextBitmap.getContext('2d', { alpha: false })!, jobFor(shifted, wide, high));
    this.work = { steps, camera: { ...camera }, spentMs: 0 };
  }

  /**
   * Draws for one time slice.
   * Returns: once the bitmap is complete, the time that a picture of the view alone would take; else null.
   */
  continueDrawing(isFirst: boolean, resting: boolean): number | null {
    const { work } = this;
    if (!work) return null;
    const start = performance.now();
    const slice = isFirst ? FIRST_SLICE_MS : resting ? 2 * SLICE_MS : SLICE_MS;
    let done = false;
    while (!done && performance.now() - start < slice) done = work.steps.next().done === true;
    work.spentMs += performance.now() - start;
    if (!done) return null;
    this.bitmap.width = this.nextBitmap.width;
    this.bitmap.height = this.nextBitmap.height;
    this.bitmap.getContext('2d', { alpha: false })!.drawImage(this.nextBitmap, 0, 0);
    this.camera = work.camera;
    this.valid = true;
    this.work = null;
    return work.spentMs / (1 + 2 * MARGIN) ** 2;
  }

  /** Shows the bitmap where the camera is now. */
  show(on: CanvasRenderingContext2D, { camera, width, height, ratio }: View, ground: string): void {
    const shown = this.camera;
    on.setTransform(ratio, 0, 0, ratio, 0, 0);
    on.globalAlpha = 1;
    if (!shown || this.bitmap.width === 0 || !covers(shown, camera, width, height)) {
      on.fillStyle = ground;
      on.fillRect(0, 0, width, height);
    }
    if (!shown || this.bitmap.width === 0) return;
    const zoom = camera.k / shown.k;
    const left = (shown.x - (width * MARGIN) / shown.k - camera.x) * camera.k;
    const top = (shown.y - (height * MARGIN) / shown.k - camera.y) * camera.k;
    const exact = Math.abs(zoom - 1) < 1e-9;
    on.imageSmoothingEnabled = !exact;
    on.drawImage(
      this.bitmap,
      exact ? Math.round(left * ratio) / ratio : left,
      exact ? Math.round(top * ratio) / ratio : top,
      (this.bitmap.width / ratio) * zoom,
      (this.bitmap.height / ratio) * zoom,
    );
  }
}

/** Whether a bitmap made for one camera fills the view of another, at a tolerable sharpness. */
function covers(shown: Camera, camera: Camera, width: number, height: number): boolean {
  const zoom = camera.k / shown.k;
  if (zoom > 2 || zoom < 0.7) return false;
  const x = shown.x - (width * MARGIN) / shown.k;
  const y = shown.y - (height * MARGIN) / shown.k;
  return (
    camera.x >= x &&
    camera.y >= y &&
    camera.x + width / camera.k <= x + (width * (1 + 2 * MARGIN)) / shown.k &&
    camera.y + height / camera.k <= y + (height * (1 + 2 * MARGIN)) / shown.k
  );
}

function sameCamera(a: Camera, b: Camera): boolean {
  return a.x === b.x && a.y === b.y && a.k === b.k;
}
