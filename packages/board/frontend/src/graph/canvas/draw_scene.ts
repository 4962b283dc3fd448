/** Draws a scene into a canvas, or into anything that takes the same strokes (the SVG export). */

import { STACK_STEP, STUB_FONT_PX } from '../model/box_sizes.ts';
import type { GraphModel } from '../model/graph_model.ts';
import { CONST, FROM_PORT, GROUP, IN_SIDE, OP, OPENED, STACK, TO_PORT } from '../model/scene.ts';
import type { Camera } from './camera.ts';
import { edgeWidth, traceEdge } from './edge_path.ts';
import type { IndexedScene } from './indexed_scene.ts';
import type { Paint } from './paint.ts';

/** What of a 2-D context the drawing needs. */
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
  /** Edges that are out of the light; plain colours, for lines that lie on each other. */
  edgeFaint: string;
  accent: string;
  strip: string;
  line: string;
  font: string;
}

/** What is drawn apart from the scene itself. */
export interface Emphasis {
  /** Items (by index) that are lit; others are drawn faint. null: all alike. */
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
  /** Boxes in place of the scene's, while things move. */
  boxes?: Float32Array;
  edgeAlpha?: number;
  /** Items fade in with this, where given: 1 for those that were there before. */
  itemAlpha?: Float32Array;
}

const CHUNK = 300;
const READABLE = 6.5;
const BOLDER = 1.09; // bold letters are about so much wider than those that are measured
/** The scale from which the signs for open and close are drawn, and can be hit. */
export const SIGNS = 0.55;

/** Draws step by step; each yield is a place to stop and let the page breathe. */
export function* drawScene(surface: Surface, job: DrawJob): Generator<void> {
  const { indexed, camera, width, height, ratio } = job;
  const { scene } = indexed;
  const k = camera.k;
  surface.setTransform(ratio, 0, 0, ratio, 0, 0);
  surface.globalAlpha = 1;
  surface.fillStyle = job.inks.ground;
  surface.fillRect(0, 0, width, height);
  surface.setTransform(ratio * k, 0, 0, ratio * k, -camera.x * k * ratio, -camera.y * k * ratio);
  const right = camera.x + width / k;
  const bottom = camera.y + height / k;
  const least = 1.1 / k;
  const boxes = job.boxes ?? scene.box;
  const moving = job.boxes !== undefined;
  const items = (
    moving ? Array.from(scene.item.keys()) : indexed.itemsIn(camera.x - 90, camera.y, right, bottom)
  ).filter((i) => boxes[4 * i + 2]! > least || boxes[4 * i + 3]! > least);
  const drawer = new Drawer(surface, job, boxes);

  // Grounds of opened groups, and the strips of side areas.
  let count = 0;
  for (const i of items) {
    if (scene.kind[i] !== OPENED) continue;
    drawer.ground(i);
    if (++count % CHUNK === 0) yield;
  }
  if (!moving) drawer.strips();
  yield;
  if (job.edgeAlpha !== 0) {
    const edges = indexed.edgesIn(camera.x, camera.y, right, bottom);
    surface.globalAlpha = job.edgeAlpha ?? 1;
    yield* drawer.edges(edges);
    surface.globalAlpha = 1;
  }
  for (const i of items) {
    if (scene.kind[i] === OPENED) continue;
    drawer.item(i);
    if (++count % CHUNK === 0) yield;
  }
  if (!moving && k > 0.62) drawer.stubs(items);
  yield;
  for (const i of items) if (scene.kind[i] === OPENED) drawer.title(i);
}

class Drawer {
  private readonly s: Surface;
  private readonly job: DrawJob;
  private readonly boxes: Float32Array;
  private readonly k: number;
  private readonly hair: number;
  private font = '';

  constructor(surface: Surface, job: DrawJob, boxes: Float32Array) {
    this.s = surface;
    this.job = job;
    this.boxes = boxes;
    this.k = job.camera.k;
    this.hair = (this.k > 1 ? Math.sqrt(this.k) : 1) / this.k;
  }

  private setFont(px: number, weight = 400): void {
    const font = `${weight} ${px}px ${this.job.inks.font}`;
    if (font === this.font) return;
    this.s.font = font;
    this.font = font;
  }

  private alphaOf(i: number): number {
    const { lit } = this.job.emphasis;
    return (lit && !lit[i] ? 0.28 : 1) * (this.job.itemAlpha?.[i] ?? 1);
  }

  ground(i: number): void {
    const { scene } = this.job.indexed;
    const { s, boxes } = this;
    const item = scene.item[i]!;
    const [x, y, w, h] = [boxes[4 * i]!, boxes[4 * i + 1]!, boxes[4 * i + 2]!, boxes[4 * i + 3]!];
    s.globalAlpha = this.job.itemAlpha?.[i] ?? 1;
    s.fillStyle = this.job.paint.openFill(item, scene.depth[i]!);
    if (h * this.k < 10) {
      s.fillStyle = this.job.paint.style(item).fill;
      s.fillRect(x, y, w, h);
    } else {
      s.beginPath();
      s.roundRect(x, y, w, h, Math.min(10, h / 4));
      s.fill();
      s.strokeStyle = this.job.paint.border(item);
      s.lineWidth = this.hair;
      s.stroke();
    }
    s.globalAlpha = 1;
  }

  strips(): void {
    const { scene } = this.job.indexed;
    const { s, k } = this;
    const { strips } = scene;
    for (let i = 0; i < strips.length; i += 5) {
      const [, x, y, w, h] = [strips[i]!, strips[i + 1]!, strips[i + 2]!, strips[i + 3]!, strips[i + 4]!];
      if (h * k < 10) continue;
      s.fillStyle = this.job.inks.strip;
      s.beginPath();
      s.roundRect(x, y, w, h, 8);
      s.fill();
      s.strokeStyle = this.job.inks.line;
      s.lineWidth = this.hair;
      s.setLineDash([3 * this.hair, 3 * this.hair]);
      s.stroke();
      s.setLineDash([]);
      if (10 * k >= READABLE) {
        this.setFont(10, 500);
        s.fillStyle = this.job.inks.faint;
        s.textAlign = 'left';
        s.textBaseline = 'middle';
        s.fillText(w > 84 ? 'Side area' : 'Side', x + 10, y + 13);
      }
    }
  }

  *edges(found: number[]): Generator<void> {
    const { scene } = this.job.indexed;
    const { s, k } = this;
    const { bright, lit } = this.job.emphasis;
    const { edgeBox, control, data, points, pointStart, from, to, bytes } = scene;
    const least = 5 / k;
    // One stroke for all edges of a width: buckets of half a pixel.
    const buckets = new Map<string, number[]>();
    for (const e of found) {
      if (edgeBox[4 * e + 2]! - edgeBox[4 * e]! < least && edgeBox[4 * e + 3]! - edgeBox[4 * e + 1]! < least)
        continue;
      const onlyControl = data[e] === 0 && control[e]! > 0;
      const isBright = bright?.has(e) ?? false;
      const faint = lit !== null;
      const w = Math.round(edgeWidth(data[e]!, bytes[e]!) * 2) / 2;
      const key = `${isBright ? 'b' : faint ? 'f' : 'n'}${onlyControl ? 'c' : 'd'}${w}`;
      const bucket = buckets.get(key);
      if (bucket) bucket.push(e);
      else buckets.set(key, [e]);
    }
    const order = [...buckets.keys()].sort(
      (a, b) => (a[0] === 'b' ? 1 : 0) - (b[0] === 'b' ? 1 : 0) || (a < b ? -1 : 1),
    );
    const heads = k > 0.2;
    const labels = new Labels();
    let drawn = 0;
    s.lineCap = 'butt';
    const alpha = s.globalAlpha;
    for (const key of order) {
      const isControl = key[1] === 'c';
      const isBright = key[0] === 'b';
      const w = Number(key.slice(2)) * (isBright ? 1.25 : 1);
      const { inks } = this.job;
      const plain = key[0] === 'f' ? inks.edgeFaint : isControl ? inks.control : inks.edge;
      s.strokeStyle = isBright ? inks.accent : plain;
      s.lineWidth = Math.max(w, 0.8 / k);
      if (isControl) s.setLineDash([4, 3.5]);
      const bucket = buckets.get(key)!;
      for (let from = 0; from < bucket.length; from += 100) {
        s.beginPath();
        for (const e of bucket.slice(from, from + 100)) {
          const cut = heads && !(scene.edgeFlags[e]! & TO_PORT) ? 6 : 0;
          traceEdge(s, points, pointStart[e]!, pointStart[e + 1]!, cut);
        }
        s.stroke();
        drawn += 100;
        if (drawn % CHUNK === 0) yield;
      }
      if (isControl) s.setLineDash([]);
      if (!heads) continue;
      s.fillStyle = s.strokeStyle;
      s.beginPath();
      for (const e of bucket) if (!(scene.edgeFlags[e]! & TO_PORT)) this.head(e, w);
      s.fill();
    }
    s.globalAlpha = alpha;
    if (8.5 * k < READABLE || this.job.edgeAlpha !== undefined) return;
    // Shapes of tensors, where there is room for them.
    this.setFont(8.5);
    s.textAlign = 'center';
    s.textBaseline = 'middle';
    for (const e of found) {
      if (data[e] === 0 || scene.edgeFlags[e]! & FROM_PORT) continue;
      if (edgeBox[4 * e + 3]! - edgeBox[4 * e + 1]! < 22) continue;
      const text = this.job.indexed.edgeLabel(this.job.model, e, from[e]!, to[e]!, data[e]!);
      if (!text) continue;
      const w = (this.job.textWidth(text) * 8.5) / 12 + 6;
      const p = pointStart[e]!;
      const x = points[2 * p]!;
      const down = points[2 * p + 3]! >= points[2 * p + 1]! ? 1 : -1;
      const y = points[2 * p + 1]! + down * 10;
      if (!labels.take(`${from[e]}:${text}:${scene.edgeGroup[e]}`, x - w / 2, y - 5.5, w, 11)) continue;
      s.globalAlpha = 0.86;
      s.fillStyle = this.groundOf(scene.edgeGroup[e]!);
      s.fillRect(x - w / 2, y - 5.5, w, 11);
      s.globalAlpha = lit && !bright?.has(e) ? 0.5 : 1;
      s.fillStyle = bright?.has(e) ? this.job.inks.accent : this.job.inks.faint;
      s.fillText(text, x, y + 0.5);
    }
    s.globalAlpha = alpha;
  }

  private groundOf(group: number): string {
    const { scene } = this.job.indexed;
    return group < 0
      ? this.job.inks.ground
      : this.job.paint.openFill(scene.item[group]!, scene.depth[group]!);
  }

  private head(e: number, width: number): void {
    const { points, pointStart } = this.job.indexed.scene;
    const end = pointStart[e + 1]! - 1;
    const x = points[2 * end]!;
    const y = points[2 * end + 1]!;
    const before = points[2 * end - 1]!;
    const d = y >= before ? 1 : -1;
    const half = 2.6 + 0.75 * width;
    const long = 6 + width * 0.8;
    this.s.moveTo(x, y - d * 0.5);
    this.s.lineTo(x - half, y - d * long);
    this.s.lineTo(x + half, y - d * long);
    this.s.closePath();
  }

  item(i: number): void {
    const { scene } = this.job.indexed;
    const { s, boxes, k } = this;
    const item = scene.item[i]!;
    const kind = scene.kind[i]!;
    const [x, y, w, h] = [boxes[4 * i]!, boxes[4 * i + 1]!, boxes[4 * i + 2]!, boxes[4 * i + 3]!];
    const style = this.job.paint.style(item);
    s.globalAlpha = this.alphaOf(i);
    if (h * k < 8) {
      s.fillStyle = h * k < 4 && kind !== OP && kind !== CONST ? style.border : style.fill;
      s.fillRect(x, y, w, h);
      if (h * k >= 4) {
        s.strokeStyle = style.border;
        s.lineWidth = this.hair;
        s.beginPath();
        s.roundRect(x, y, w, h, 0);
        s.stroke();
      }
      s.globalAlpha = 1;
      return;
    }
    const round = kind === OP || kind === CONST ? h / 2 : 7;
    s.lineWidth = this.hair;
    s.strokeStyle = style.border;
    if (kind === STACK) {
      s.fillStyle = style.fill;
      for (const sheet of [2, 1]) {
        const d = sheet * STACK_STEP;
        s.beginPath();
        s.roundRect(
          x + 2 * STACK_STEP - d + d,
          y + 2 * STACK_STEP - d,
          w - 2 * STACK_STEP,
          h - 2 * STACK_STEP,
          round,
        );
        s.fill();
        s.stroke();
      }
      this.box(x, y + 2 * STACK_STEP, w - 2 * STACK_STEP, h - 2 * STACK_STEP, round, style);
      this.words(i, item, kind, x, y + 2 * STACK_STEP, w - 2 * STACK_STEP, h - 2 * STACK_STEP);
    } else {
      this.box(x, y, w, h, round, style);
      this.words(i, item, kind, x, y, w, h);
    }
    s.globalAlpha = 1;
  }

  private box(
    x: number,
    y: number,
    w: number,
    h: number,
    round: number,
    style: ReturnType<Paint['style']>,
  ): void {
    const { s } = this;
    s.fillStyle = style.fill;
    s.strokeStyle = style.border;
    s.beginPath();
    if (style.notch) {
      const cut = Math.min(13, h / 2);
      s.moveTo(x + 5, y);
      s.lineTo(x + w - cut, y);
      s.lineTo(x + w, y + cut);
      s.lineTo(x + w, y + h - 5);
      s.lineTo(x + w - 5, y + h);
      s.lineTo(x + 5, y + h);
      s.lineTo(x, y + h - 5);
      s.lineTo(x, y + 5);
      s.closePath();
    } else s.roundRect(x, y, w, h, round);
    s.fill();
    s.stroke();
    if (style.notch) {
      const cut = Math.min(13, h / 2);
      s.fillStyle = style.border;
      s.beginPath();
      s.moveTo(x + w - cut, y);
      s.lineTo(x + w, y + cut);
      s.lineTo(x + w - cut, y + cut);
      s.closePath();
      s.fill();
    }
    if (style.bar) {
      let at = x + 6;
      const room = w - 12;
      for (const [fill, share] of style.bar) {
        s.fillStyle = fill;
        s.fillRect(at, y + h - 5.5, room * share, 3);
        at += room * share;
      }
    }
  }

  private words(i: number, item: number, kind: number, x: number, y: number, w: number, h: number): void {
    const { s, k } = this;
    const { model, inks } = this.job;
    const isGroup = kind === GROUP || kind === STACK;
    const toggle = isGroup && k >= SIGNS;
    const room = w - (isGroup ? 14 : 16) - (toggle ? 18 : 0) + (k < 0.6 ? 6 : 0);
    const label = this.job.label(item);
    // Far away letters stay readable as long as they fit, then get smaller, then fewer.
    const full = this.job.textWidth(label) / 12;
    const usual = Math.max(kind === CONST ? 10.5 : 12, 8.5 / k);
    const least = Math.max(kind === CONST ? 10.5 : 12, 7 / k);
    const card = !isGroup && k >= 1.45;
    const near = card ? Math.min(usual, Math.max(0.34 * h, 17 / k)) : usual;
    const size = Math.min(h * 0.8, Math.min(near, Math.max(least, room / full)));
    if (size * k < READABLE) return;
    const two = isGroup && 9.5 * k >= 6.2 && size * 1.9 + 4 < h;
    const text = fitText(label, (room * 12) / size, this.job.textWidth);
    if (text === '') return;
    this.setFont(size, isGroup ? 500 : 400);
    s.fillStyle = kind === CONST ? inks.soft : inks.text;
    s.textAlign = isGroup ? 'left' : 'center';
    s.textBaseline = 'middle';
    const tx = isGroup ? x + 10 : x + w / 2;
    const middle = y + h / 2 + 0.5;
    s.fillText(text, tx, two ? middle - 7.5 : card ? middle - h * 0.17 : middle);
    if (two) {
      this.setFont(9.5);
      s.fillStyle = inks.soft;
      s.fillText(this.subtitle(item, kind), tx, middle + 8);
    } else if (card) {
      // Near by: what it does, what comes out, and where; letters grow less than boxes do.
      const small = Math.min(6.5, Math.max(3.8, 11 / k));
      this.setFont(small);
      s.fillStyle = inks.soft;
      const op = model.opName(item);
      const lines = [
        [op === label ? '' : op, model.shapeOf(item)].filter((t) => t !== '').join(' · ') || op,
        model.deviceName(item),
      ].filter((t) => t !== '');
      const rows = k > 2.2 && kind !== CONST ? lines : lines.slice(0, 1);
      rows.forEach((line, i) => {
        const words = fitText(line, (w - 10) * (12 / small), this.job.textWidth);
        s.fillText(words, tx, middle + h * 0.17 + i * small * 1.3 + (rows.length > 1 ? -0.5 : 1.5));
      });
    }
    if (toggle) this.toggle(x + w - 14, y + h / 2, false);
    void i;
  }

  private subtitle(item: number, kind: number): string {
    const { model } = this.job;
    if (kind === STACK) {
      const members = model.members[item - model.total]!;
      const shown = this.job.indexed.stackCount(item, members.length);
      let ops = 0;
      for (const m of members) ops += model.size[m]!;
      return ops === members.length ? `×${shown}` : `×${shown} · ${count(ops)} ops`;
    }
    return `${count(model.size[item]!)} ${model.size[item] === 1 ? 'op' : 'ops'}`;
  }

  private toggle(x: number, y: number, open: boolean): void {
    const { s } = this;
    s.strokeStyle = this.job.inks.soft;
    s.lineWidth = 1.1;
    s.beginPath();
    s.roundRect(x - 6, y - 6, 12, 12, 4);
    s.moveTo(x - 3, y);
    s.lineTo(x + 3, y);
    if (!open) {
      s.moveTo(x, y - 3);
      s.lineTo(x, y + 3);
    }
    s.stroke();
  }

  title(i: number): void {
    const { scene } = this.job.indexed;
    const { s, boxes, k } = this;
    const { model, inks } = this.job;
    const item = scene.item[i]!;
    const [x, y, w, h] = [boxes[4 * i]!, boxes[4 * i + 1]!, boxes[4 * i + 2]!, boxes[4 * i + 3]!];
    if (30 * k < 10 || w * k < 40 || h * k < 14) return;
    const size = Math.max(12, 9.5 / k);
    const label = fitText(this.job.label(item), ((w - 60) * 12) / size, this.job.textWidth);
    if (label === '') return;
    s.globalAlpha = this.job.itemAlpha?.[i] ?? 1;
    const wide = (this.job.textWidth(label) * size * BOLDER) / 12;
    const more = k >= 0.6 ? `${count(model.size[item]!)} ops` : '';
    const moreWide = more && wide + 70 < w - 40 ? (this.job.textWidth(more) * 9.5) / 12 + 8 : 0;
    // Lines pass beneath the words.
    s.fillStyle = this.job.paint.openFill(item, scene.depth[i]!);
    s.beginPath();
    s.roundRect(x + 6, y + 5, wide + moreWide + 12, 20, 5);
    s.fill();
    this.setFont(size, 600);
    s.fillStyle = inks.text;
    s.textAlign = 'left';
    s.textBaseline = 'middle';
    s.fillText(label, x + 12, y + 15.5);
    if (moreWide > 0) {
      this.setFont(9.5);
      s.fillStyle = inks.faint;
      s.fillText(more, x + 12 + wide + 8, y + 16);
    }
    if (k >= SIGNS) {
      s.fillStyle = this.job.paint.openFill(item, scene.depth[i]!);
      s.fillRect(x + w - 24, y + 6, 18, 18);
      this.toggle(x + w - 15, y + 15, true);
    }
    s.globalAlpha = 1;
  }

  /** Labels of edges that lead to a side area. */
  stubs(items: number[]): void {
    const { scene } = this.job.indexed;
    const { s, boxes } = this;
    const { inks } = this.job;
    const shown = new Set(items);
    const { stubs } = scene;
    this.setFont(STUB_FONT_PX);
    s.textAlign = 'left';
    s.textBaseline = 'middle';
    for (let i = 0; i < stubs.length; ) {
      const at = stubs[i]!;
      let end = i;
      while (end < stubs.length && stubs[end] === at) end += 4;
      if (shown.has(at) && !(scene.flags[at]! & IN_SIDE)) {
        const x = boxes[4 * at]! + boxes[4 * at + 2]!;
        const y = boxes[4 * at + 1]! + boxes[4 * at + 3]! / 2;
        const more = (end - i) / 4 - 1;
        const text = fitText(this.job.label(stubs[i + 1]!), 66, this.job.textWidth);
        s.globalAlpha = this.alphaOf(at);
        s.strokeStyle = inks.control;
        s.lineWidth = 1;
        s.setLineDash([1.5, 2]);
        s.beginPath();
        s.moveTo(x + 1, y);
        s.lineTo(x + 11, y);
        s.stroke();
        s.setLineDash([]);
        s.fillStyle = inks.faint;
        s.fillText(more > 0 ? `${text} +${more}` : text, x + 13, y + 0.5);
      }
      i = end;
    }
    s.globalAlpha = 1;
  }
}

/** Rectangles that labels took; the next one must stay clear of them. */
class Labels {
  private readonly taken: [number, number, number, number][] = [];
  private readonly keys = new Set<string>();

  take(key: string, x: number, y: number, w: number, h: number): boolean {
    if (this.keys.has(key) || this.taken.length > 400) return false;
    for (const [a, b, c, d] of this.taken) {
      if (x < a + c && a < x + w && y < b + d && b < y + h) return false;
    }
    this.keys.add(key);
    this.taken.push([x, y, w, h]);
    return true;
  }
}

export function count(n: number): string {
  return n.toLocaleString('en-US');
}

const fitted = new Map<string, string>();

/** A text cut to a width in units of a 12 px font; empty where not even three letters fit. */
export function fitText(text: string, room: number, width: (text: string) => number): string {
  const key = `${Math.floor(room)}\n${text}`;
  const known = fitted.get(key);
  if (known !== undefined) return known;
  let result = text;
  if (width(text) > room) {
    let n = Math.min(text.length - 1, Math.floor(room / 4));
    while (n > 0 && width(`${text.slice(0, n)}…`) > room) n--;
    result = n < 2 ? '' : `${text.slice(0, n)}…`;
  }
  if (fitted.size > 20_000) fitted.clear();
  fitted.set(key, result);
  return result;
}
