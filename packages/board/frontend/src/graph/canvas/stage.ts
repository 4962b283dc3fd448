/** The canvas: camera, frames, the bitmap that is moved while the full picture is costly, and pointers. */

import { between, bringIntoView, type Camera, ease, fit, type Rect, zoomAbout } from '../drawing/camera.ts';
import { drawScene } from '../drawing/draw_scene.ts';
import { SIGNS } from '../drawing/draw_sign.ts';
import type { Paint } from '../drawing/paint.ts';
import type { DrawJob, Emphasis, Inks } from '../drawing/surface.ts';
import type { GraphModel } from '../model/graph_model.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import { GROUP, OPENED, STACK } from '../scene/scene.ts';
import { inBetween, startBoxes } from './motion.ts';
import { Pointers, type StageEvents } from './pointers.ts';

const DIRECT_MS = 9; // pictures that take no longer than this are drawn anew in each frame
const SLICE_MS = 7;
const IDLE_MS = 90;
const MARGIN = 0.3; // of the view, drawn around it into the bitmap
const MOVE_MS = 220;
const ANIMATED = 1500; // with more items than this, the new picture just replaces the old one

interface Motion {
  from: Camera;
  to: Camera;
  start: number;
  duration: number;
  boxes: { old: Float32Array; fresh: Uint8Array } | null;
}

export class Stage {
  readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly events: StageEvents;
  private readonly bitmap = document.createElement('canvas');
  private readonly making = document.createElement('canvas');
  private bitmapCamera: Camera | null = null;
  private bitmapGood = false;
  private work: { steps: Generator<void>; camera: Camera } | null = null;
  private motion: Motion | null = null;
  private frame = 0;
  private idle: ReturnType<typeof setTimeout> | undefined;
  private cost = 0;
  private dirty = true;
  private lastMove = 0;
  camera: Camera = { x: 0, y: 0, k: 1 };
  width = 0;
  height = 0;
  indexed: IndexedScene | null = null;
  model: GraphModel | null = null;
  paint: Paint | null = null;
  inks: Inks | null = null;
  label: (item: number) => string = () => '';
  textWidth: (text: string) => number = (t) => t.length * 7;
  emphasis: Emphasis = { lit: null, bright: null };
  selected: number | null = null;
  hovered = -1;
  /** Times between frames while something moves, the last 600 of them. */
  readonly frameTimes: number[] = [];
  firstDrawMs = 0;
  pictures = 0;
  /** Scenes shown so far, and when the last one was first drawn. */
  scenes = 0;
  shownAt = 0;
  private unshown = false;
  private lastFrame = 0;
  private readonly stop: () => void;

  constructor(canvas: HTMLCanvasElement, events: StageEvents) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', { alpha: false })!;
    this.events = events;
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(canvas);
    const pointers = new Pointers(this, events);
    this.stop = () => {
      observer.disconnect();
      pointers.stop();
      cancelAnimationFrame(this.frame);
      clearTimeout(this.idle);
    };
    this.resize();
  }

  close(): void {
    this.stop();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0 || (clientWidth === this.width && clientHeight === this.height)) return;
    if (this.width > 0) {
      // The middle stays the middle.
      const { k } = this.camera;
      this.camera = {
        x: this.camera.x + (this.width - clientWidth) / 2 / k,
        y: this.camera.y + (this.height - clientHeight) / 2 / k,
        k,
      };
    }
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.invalidate();
    this.draw();
  }

  /** Boxes on their way to a new scene; a new motion of the camera takes them along. */
  get travelling(): Motion['boxes'] {
    return this.motion?.boxes ?? null;
  }

  /** Whether the camera or items are on their way. */
  get moving(): boolean {
    return this.motion !== null || this.work !== null;
  }

  get ratio(): number {
    return Math.min(2, window.devicePixelRatio || 1);
  }

  private get calm(): boolean {
    return matchMedia('(prefers-reduced-motion: reduce)').matches;
  }

  /**
   * Shows a new scene. The item `anchor` stays where it is on the screen; what was there before moves to
   * its new place.
   */
  show(indexed: IndexedScene, anchor: number | null): void {
    const before = this.indexed;
    this.indexed = indexed;
    this.scenes++;
    this.unshown = true;
    this.work = null;
    this.bitmapGood = false;
    this.hovered = -1;
    let boxes: Motion['boxes'] = null;
    if (before && anchor !== null) {
      const was = before.indexOf.get(anchor);
      const is = indexed.indexOf.get(anchor);
      let dx = 0;
      let dy = 0;
      if (was !== undefined && is !== undefined) {
        const a = before.rect(was);
        const b = indexed.rect(is);
        dx = b.x + Math.min(b.w, 60) / 2 - a.x - Math.min(a.w, 60) / 2;
        dy = b.y - a.y;
      }
      this.camera = { x: this.camera.x + dx, y: this.camera.y + dy, k: this.camera.k };
      if (!this.calm && indexed.scene.item.length <= ANIMATED && before.scene.item.length <= ANIMATED) {
        boxes = startBoxes(before, indexed, dx, dy);
      }
    }
    this.dirty = true;
    this.motion = null;
    if (boxes) this.move(this.camera, MOVE_MS, boxes);
    this.draw();
  }

  /** Moves the camera so that a rectangle is seen; `whole` zooms in on it too. */
  look(rect: Rect, whole: boolean, most = 1.25): void {
    const to = whole
      ? fit(rect, this.width, this.height, 36, most)
      : bringIntoView(this.camera, rect, this.width, this.height);
    this.move(to, MOVE_MS, this.motion?.boxes ?? null);
  }

  jump(camera: Camera): void {
    this.motion = null;
    this.camera = camera;
    this.touch();
  }

  move(to: Camera, duration: number, boxes: Motion['boxes'] = null): void {
    if (this.calm) {
      this.jump(to);
      return;
    }
    this.motion = { from: this.camera, to, start: performance.now(), duration, boxes };
    this.draw();
  }

  zoom(factor: number): void {
    this.move(zoomAbout(this.motion?.to ?? this.camera, this.width / 2, this.height / 2, factor), 140);
  }

  /** Something about the picture changed but for the camera. */
  invalidate(): void {
    this.dirty = true;
    this.work = null;
    this.bitmapGood = false;
    this.draw();
  }

  /** The camera changed. */
  touch(): void {
    this.lastMove = performance.now();
    this.work = this.cost > DIRECT_MS ? this.work : null;
    this.draw();
    this.events.moved(this.camera);
  }

  draw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => this.onFrame(now));
  }

  private onFrame(now: number): void {
    this.frame = 0;
    if (!this.indexed || !this.model || !this.paint || !this.inks || this.width === 0) return;
    if (this.lastFrame > 0 && now - this.lastFrame < 400) {
      this.frameTimes.push(now - this.lastFrame);
      if (this.frameTimes.length > 600) this.frameTimes.shift();
    }
    this.lastFrame = now;
    let again = false;
    let boxes: Float32Array | undefined;
    let itemAlpha: Float32Array | undefined;
    let edgeAlpha: number | undefined;
    if (this.motion) {
      const { from, to, start, duration, boxes: moving } = this.motion;
      const t = Math.min(1, (performance.now() - start) / duration);
      this.camera = between(from, to, ease(t));
      if (t < 1) again = true;
      else this.motion = null;
      if (moving && t < 1) {
        [boxes, itemAlpha] = inBetween(moving, this.indexed.scene.box, ease(t));
        edgeAlpha = Math.max(0, 2 * t - 1);
      }
      this.lastMove = performance.now();
      if (t >= 1) this.dirty = true;
      this.events.moved(this.camera);
    }
    if (boxes) {
      for (const _ of drawScene(
        this.context,
        this.job(this.camera, this.width, this.height, boxes, itemAlpha, edgeAlpha),
      ));
      this.dirty = false;
      this.overlay();
    } else if (this.cost <= DIRECT_MS && this.pictures > 0) {
      const start = performance.now();
      for (const _ of drawScene(this.context, this.job(this.camera, this.width, this.height)));
      this.cost = performance.now() - start;
      if (this.firstDrawMs === 0) this.firstDrawMs = performance.now();
      this.dirty = false;
      this.work = null;
      this.overlay();
    } else again = this.throughBitmap() || again;
    this.pictures++;
    if (this.unshown && !this.dirty && !this.work) {
      this.unshown = false;
      this.shownAt = performance.now();
    }
    if (again) this.draw();
    else this.lastFrame = 0;
  }

  /** Shows the bitmap where the camera is now, and makes a new one in slices of time. */
  private throughBitmap(): boolean {
    const { width, height, ratio } = this;
    const resting = performance.now() - this.lastMove > IDLE_MS;
    const have = this.bitmapCamera;
    const fits = have !== null && this.bitmapGood && sameCamera(have, this.camera);
    const covers = have !== null && this.bitmapGood && this.covered(have);
    if (!this.work && (this.dirty || (!fits && (resting || !covers)))) {
      const camera = { ...this.camera };
      const wide = Math.ceil(width * (1 + 2 * MARGIN));
      const high = Math.ceil(height * (1 + 2 * MARGIN));
      this.making.width = wide * ratio;
      this.making.height = high * ratio;
      const shifted = {
        x: camera.x - (width * MARGIN) / camera.k,
        y: camera.y - (height * MARGIN) / camera.k,
        k: camera.k,
      };
      this.work = {
        steps: drawScene(this.making.getContext('2d', { alpha: false })!, this.job(shifted, wide, high)),
        camera,
      };
      this.workMs = 0;
      this.dirty = false;
    }
    if (this.work) {
      const start = performance.now();
      // The very first picture is waited for; later ones are made between frames.
      const slice = this.pictures === 0 ? 120 : resting ? 2 * SLICE_MS : SLICE_MS;
      let done = false;
      while (performance.now() - start < slice) {
        if (this.work.steps.next().done) {
          done = true;
          break;
        }
      }
      this.workMs += performance.now() - start;
      if (done) {
        this.bitmap.width = this.making.width;
        this.bitmap.height = this.making.height;
        this.bitmap.getContext('2d', { alpha: false })!.drawImage(this.making, 0, 0);
        this.bitmapCamera = this.work.camera;
        this.bitmapGood = true;
        this.work = null;
        // The bitmap is larger than the view; small pictures go back to being drawn directly.
        this.cost = this.workMs / (1 + 2 * MARGIN) ** 2;
        if (this.firstDrawMs === 0) this.firstDrawMs = performance.now();
      }
    }
    const c = this.context;
    const shown = this.bitmapCamera;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.globalAlpha = 1;
    if (shown && this.bitmap.width > 0) {
      if (!this.covered(shown)) {
        c.fillStyle = this.inks!.ground;
        c.fillRect(0, 0, width, height);
      }
      const zoom = this.camera.k / shown.k;
      const left = (shown.x - (width * MARGIN) / shown.k - this.camera.x) * this.camera.k;
      const top = (shown.y - (height * MARGIN) / shown.k - this.camera.y) * this.camera.k;
      const exact = Math.abs(zoom - 1) < 1e-9;
      c.imageSmoothingEnabled = !exact;
      c.drawImage(
        this.bitmap,
        exact ? Math.round(left * ratio) / ratio : left,
        exact ? Math.round(top * ratio) / ratio : top,
        (this.bitmap.width / ratio) * zoom,
        (this.bitmap.height / ratio) * zoom,
      );
    } else {
      c.fillStyle = this.inks!.ground;
      c.fillRect(0, 0, width, height);
    }
    this.overlay();
    if (this.work) return true;
    if (this.bitmapCamera && !sameCamera(this.bitmapCamera, this.camera)) {
      clearTimeout(this.idle);
      this.idle = setTimeout(() => this.draw(), IDLE_MS + 10);
    }
    return false;
  }
  private workMs = 0;

  private covered(shown: Camera): boolean {
    const zoom = this.camera.k / shown.k;
    if (zoom > 2 || zoom < 0.7) return false;
    const x = shown.x - (this.width * MARGIN) / shown.k;
    const y = shown.y - (this.height * MARGIN) / shown.k;
    return (
      this.camera.x >= x &&
      this.camera.y >= y &&
      this.camera.x + this.width / this.camera.k <= x + (this.width * (1 + 2 * MARGIN)) / shown.k &&
      this.camera.y + this.height / this.camera.k <= y + (this.height * (1 + 2 * MARGIN)) / shown.k
    );
  }

  private job(
    camera: Camera,
    width: number,
    height: number,
    boxes?: Float32Array,
    itemAlpha?: Float32Array,
    edgeAlpha?: number,
  ): DrawJob {
    const job: DrawJob = {
      model: this.model!,
      indexed: this.indexed!,
      paint: this.paint!,
      inks: this.inks!,
      camera,
      width,
      height,
      ratio: this.ratio,
      emphasis: this.emphasis,
      label: this.label,
      textWidth: this.textWidth,
    };
    if (boxes) job.boxes = boxes;
    if (itemAlpha) job.itemAlpha = itemAlpha;
    if (edgeAlpha !== undefined) job.edgeAlpha = edgeAlpha;
    return job;
  }

  /** Rings round the selected and the hovered item, drawn over whatever the picture came from. */
  private overlay(): void {
    const { context: c, camera, ratio } = this;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.globalAlpha = 1;
    c.setLineDash([]);
    const selected = this.selected === null ? undefined : this.indexed!.indexOf.get(this.selected);
    const ring = (i: number, width: number, style: string) => {
      const r = this.indexed!.rect(i);
      const round = this.indexed!.scene.kind[i]! < GROUP ? (r.h * camera.k) / 2 : 8 * camera.k;
      const out = width / 2 + 1;
      c.strokeStyle = style;
      c.lineWidth = width;
      c.beginPath();
      c.roundRect(
        (r.x - camera.x) * camera.k - out,
        (r.y - camera.y) * camera.k - out,
        r.w * camera.k + 2 * out,
        r.h * camera.k + 2 * out,
        Math.max(2, round + out),
      );
      c.stroke();
    };
    if (this.motion?.boxes) return;
    if (this.hovered >= 0 && this.hovered !== selected) ring(this.hovered, 1, this.inks!.faint);
    if (selected !== undefined) ring(selected, 2, this.inks!.accent);
  }

  /** The scene's point under a point of the canvas. */
  toScene(sx: number, sy: number): [number, number] {
    return [this.camera.x + sx / this.camera.k, this.camera.y + sy / this.camera.k];
  }

  /** The item under a point, and whether the point is on its sign for open and close. */
  pick(sx: number, sy: number): { index: number; sign: boolean } {
    if (!this.indexed) return { index: -1, sign: false };
    const [x, y] = this.toScene(sx, sy);
    const index = this.indexed.at(x, y);
    if (index < 0) return { index, sign: false };
    const r = this.indexed.rect(index);
    const kind = this.indexed.scene.kind[index]!;
    let sign = false;
    if (kind === OPENED) sign = x > r.x + r.w - 27 && y < r.y + 27;
    else if (kind === GROUP) sign = x > r.x + r.w - 25;
    else if (kind === STACK) sign = x > r.x + r.w - 33;
    return { index, sign: sign && this.camera.k >= SIGNS };
  }
}

function sameCamera(a: Camera, b: Camera): boolean {
  return a.x === b.x && a.y === b.y && a.k === b.k;
}
