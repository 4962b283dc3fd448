/** The canvas of a graph: what it shows, when it draws, and which item is under the pointer. */
import type { Camera } from '../drawing/camera.ts';
import { drawScene } from '../drawing/draw_scene.ts';
import { SIGNS, showsSign } from '../drawing/draw_sign.ts';
import type { Paint } from '../drawing/paint.ts';
import type { DrawJob, Emphasis, Inks } from '../drawing/surface.ts';
import type { GraphModel } from '../model/graph_model.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import { GROUP, OPENED, SERIES } from '../scene/scene.ts';
import { CachedPicture } from './cached_picture.ts';
import type { FrameTimes } from './frame_times.ts';
import { inBetween, type MovingBoxes, startBoxes } from './motion.ts';
import { Pointers, type StageEvents } from './pointers.ts';
import { drawRing } from './rings.ts';
import { MOVE_MS, Viewport } from './viewport.ts';

/** Pictures that take no longer than this are drawn anew in each frame. */
const DIRECT_MS = 9;
/** The camera rests when it has not moved for this long. */
const IDLE_MS = 90;
/** With more items than this, a new scene replaces the old one without an animation. */
const MOST_ANIMATED = 1500;

/** What the drawing needs beside scene and camera. */
export interface StageContent {
  model: GraphModel;
  inks: Inks;
  paint: Paint;
  label: (item: number) => string;
  textWidth: (text: string) => number;
}

export class Stage extends Viewport {
  readonly canvas: HTMLCanvasElement;
  /** Set by tests and benchmarks. */
  times: FrameTimes | null = null;
  indexed: IndexedScene | null = null;
  content: StageContent;
  emphasis: Emphasis = { lit: null, bright: null };
  selected: number | null = null;
  hovered = -1;
  private readonly context: CanvasRenderingContext2D;
  private readonly events: StageEvents;
  private readonly cache = new CachedPicture();
  private frame = 0;
  private idle: ReturnType<typeof setTimeout> | undefined;
  /** How long a picture of the view takes to draw. */
  private cost = 0;
  private dirty = true;
  /** Whether no frame has been drawn. */
  private isFirst = true;
  private readonly stop: () => void;

  constructor(canvas: HTMLCanvasElement, content: StageContent, events: StageEvents) {
    super();
    this.canvas = canvas;
    this.content = content;
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
    this.resizeTo(clientWidth, clientHeight);
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.clear();
    this.invalidate();
    this.draw();
  }

  /** An opaque canvas is black until something is drawn. */
  private clear(): void {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.globalAlpha = 1;
    this.context.fillStyle = this.content.inks.ground;
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** Whether the camera or items move, or a picture is being drawn. */
  get moving(): boolean {
    return this.animating || this.cache.busy;
  }

  /** Shows a new scene. The item `anchor` keeps its position on the screen; other items move to their new place. */
  show(indexed: IndexedScene, anchor: number | null): void {
    const before = this.indexed;
    this.indexed = indexed;
    this.times?.sceneReplaced();
    this.cache.invalidate();
    this.hovered = -1;
    let boxes: MovingBoxes | null = null;
    if (before && anchor !== null) {
      const [dx, dy] = shiftOf(anchor, before, indexed);
      this.camera = { x: this.camera.x + dx, y: this.camera.y + dy, k: this.camera.k };
      const most = Math.max(indexed.scene.item.length, before.scene.item.length);
      if (!this.reducedMotion && most <= MOST_ANIMATED) boxes = startBoxes(before, indexed, dx, dy);
    }
    this.dirty = true;
    this.endMotion();
    if (boxes) this.move(this.camera, MOVE_MS, boxes);
    this.draw();
  }

  /** Draws anew because something other than the camera changed. */
  invalidate(): void {
    this.dirty = true;
    this.cache.invalidate();
    this.draw();
  }

  /** Draws anew because the camera changed. */
  touch(): void {
    this.cameraMoved();
    if (this.cost <= DIRECT_MS) this.cache.abandon();
    this.draw();
    this.events.moved(this.camera);
  }

  protected override jumped(): void {
    this.touch();
  }

  draw(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => this.onFrame(now));
  }

  private onFrame(now: number): void {
    this.frame = 0;
    if (this.width === 0) return;
    if (!this.indexed) {
      this.clear(); // the theme may have changed while the layout takes its time
      return;
    }
    this.times?.frameBegins(now);
    const moved = this.advance();
    if (moved) this.events.moved(this.camera);
    if (moved && !this.animating) this.dirty = true;
    let again = this.animating;
    const boxes = this.movingBoxes;
    if (moved && boxes) {
      const job = this.job(this.camera, this.width, this.height);
      this.drawAll({ ...job, ...inBetween(boxes, this.indexed.scene.box, moved.eased, moved.share) });
      this.dirty = false;
    } else if (this.cost <= DIRECT_MS && !this.isFirst) this.drawDirectly();
    else again = this.drawFromCache() || again;
    this.drawRings(this.indexed);
    this.isFirst = false;
    this.times?.frameEnds(!this.dirty && !this.cache.busy, !again);
    if (again) this.draw();
  }

  private drawDirectly(): void {
    const start = performance.now();
    this.drawAll(this.job(this.camera, this.width, this.height));
    this.cost = performance.now() - start;
    this.times?.pictureDrawn();
    this.dirty = false;
    this.cache.abandon();
  }

  private drawAll(job: DrawJob): void {
    for (const _ of drawScene(this.context, job));
  }

  /** Shows the cached picture, and continues to draw a new one. Returns: whether that needs another frame. */
  private drawFromCache(): boolean {
    const { cache, camera, width, height, ratio } = this;
    const view = { camera, width, height, ratio };
    const resting = performance.now() - this.lastMove > IDLE_MS;
    if (!cache.busy && (this.dirty || cache.isStale(view, resting))) {
      cache.begin(view, (at, w, h) => this.job(at, w, h));
      this.dirty = false;
    }
    const cost = cache.continueDrawing(this.isFirst, resting);
    if (cost !== null) {
      this.cost = cost;
      this.times?.pictureDrawn();
    }
    cache.show(this.context, view, this.content.inks.ground);
    if (cache.busy) return true;
    if (!cache.matches(camera)) {
      clearTimeout(this.idle);
      this.idle = setTimeout(() => this.draw(), IDLE_MS + 10);
    }
    return false;
  }

  private job(camera: Camera, width: number, height: number): DrawJob {
    const { indexed, ratio, emphasis } = this;
    return { ...this.content, indexed: indexed!, camera, width, height, ratio, emphasis };
  }

  private drawRings(indexed: IndexedScene): void {
    if (this.movingBoxes) return;
    const { context, camera, ratio, hovered } = this;
    const { inks } = this.content;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = 1;
    context.setLineDash([]);
    const selected = this.selected === null ? undefined : indexed.indexOf.get(this.selected);
    if (hovered >= 0 && hovered !== selected) drawRing(context, indexed, hovered, camera, 1, inks.faint);
    if (selected !== undefined) drawRing(context, indexed, selected, camera, 2, inks.accent);
  }

  /** The index of the item under a point, and whether the point is on its sign for open and close. */
  pick(sx: number, sy: number): { index: number; sign: boolean } {
    if (!this.indexed) return { index: -1, sign: false };
    const [x, y] = this.toScene(sx, sy);
    const index = this.indexed.at(x, y);
    const sign = index >= 0 && this.camera.k >= SIGNS && onSign(this.job(this.camera, 0, 0), index, x, y);
    return { index, sign };
  }
}

/** How far an item has moved between two scenes, measured near its left edge where its label begins. */
function shiftOf(item: number, before: IndexedScene, after: IndexedScene): [number, number] {
  const was = before.indexOf.get(item);
  const is = after.indexOf.get(item);
  if (was === undefined || is === undefined) return [0, 0];
  const a = before.rect(was);
  const b = after.rect(is);
  return [b.x + Math.min(b.w, 60) / 2 - a.x - Math.min(a.w, 60) / 2, b.y - a.y];
}

function onSign(
  { indexed, camera, label, textWidth }: DrawJob,
  index: number,
  x: number,
  y: number,
): boolean {
  const r = indexed.rect(index);
  const kind = indexed.scene.kind[index];
  if (kind === OPENED) return x > r.x + r.w - 27 && y < r.y + 27;
  if (!showsSign(textWidth(label(indexed.scene.item[index]!)), r.w, camera.k)) return false;
  if (kind === GROUP) return x > r.x + r.w - 25;
  return kind === SERIES && x > r.x + r.w - 33;
}
