/** The three canvases of the page: draws them when something changed, once a frame. */
import { signal } from '@preact/signals';
import { themeVersion } from '../../style/theme.ts';
import { colouring, mark, showArrows, showCritical } from '../address/address_fields.ts';
import { familyOfNode } from '../data/node_families.ts';
import type { TraceItems } from '../data/trace_items.ts';
import type { TraceModel } from '../data/trace_model.ts';
import type { LeftOut } from '../draw/draw_arrows.ts';
import { drawOverview, drawRuler, drawWindow } from '../draw/draw_overview.ts';
import { drawLanes } from '../draw/draw_tracks.ts';
import type { LanesPicture } from '../draw/timeline_scene.ts';
import { type Ink, inkNow, type Painted, paint } from '../draw/trace_colours.ts';
import { topOf } from '../layout/rows.ts';
import { fitAll } from '../layout/time_view.ts';
import { found } from '../state/trace_search.ts';
import {
  duration,
  lanesHeight,
  lanesScroll,
  lanesWidth,
  rows,
  sections,
  selectedArea,
  selectedSlice,
  shown,
  timeView,
} from '../state/trace_state.ts';
import { hovered, pointAgain, pointer } from './hit_test.ts';

export const OVERVIEW_HEIGHT = 48;
export const RULER_HEIGHT = 24;
/** Lanes so far out of sight are asked for too. */
const BEYOND_PX = 200;

/** How long drawing took, the last times; for tests. */
export const frameTimes: number[] = [];
/** When the window was last drawn, and of which items; for tests. */
export const lastDrawn = { at: 0, version: 0, sharp: false };
/** Arrows in sight, and those that are drawn, of the last picture. */
export const arrowsLeftOut = signal<LeftOut>({ seen: 0, drawn: 0 });

const painted = new WeakMap<TraceItems, { key: string; of: Painted }>();

function paintedOf(model: TraceModel, items: TraceItems, ink: Ink): Painted {
  const by = colouring.peek();
  const key = `${by} ${themeVersion.peek()} ${by === 'family' && familyOfNode.peek() !== null}`;
  const kept = painted.get(items);
  if (kept?.key === key) return kept.of;
  const header = model.header.peek()!;
  const of = paint(items, header.ops, header.lanes, by, ink);
  painted.set(items, { key, of });
  return of;
}

function sized(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const on = canvas.getContext('2d')!;
  on.setTransform(ratio, 0, 0, ratio, 0, 0);
  return on;
}

/** Says to each trace what of it is seen, so that it fetches what is not sharp. */
export function askForWindow(): void {
  const view = timeView.peek();
  const scroll = lanesScroll.peek();
  const height = lanesHeight.peek();
  const seen = rows.peek().filter((row) => {
    const top = topOf(row, scroll);
    return top + row.height > -BEYOND_PX && top < height + BEYOND_PX;
  });
  sections.peek().forEach((section, s) => {
    const model = shown.peek().find((one) => one.id === section.trace);
    const lanes = seen.filter((row) => row.section === s).flatMap((row) => row.lanes);
    model?.show({ t0: view.t0, t1: view.t1, width: lanesWidth.peek(), lanes });
  });
}

export class LanesCanvas {
  readonly lanes: HTMLCanvasElement;
  readonly ruler: HTMLCanvasElement;
  readonly overview: HTMLCanvasElement;
  /** While something is dragged the ruler has no cursor. */
  dragged = false;
  private frame = 0;
  private kept: { key: unknown[]; canvas: HTMLCanvasElement } | null = null;

  constructor(lanes: HTMLCanvasElement, ruler: HTMLCanvasElement, overview: HTMLCanvasElement) {
    this.lanes = lanes;
    this.ruler = ruler;
    this.overview = overview;
  }

  redraw(): void {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  private draw(): void {
    this.frame = 0;
    const [width, height] = [lanesWidth.peek(), lanesHeight.peek()];
    if (width < 10 || height < 1) return;
    const began = performance.now();
    if (!this.dragged) pointAgain();
    const ink = inkNow();
    const view = timeView.peek();
    const models = shown.peek();
    const picture: LanesPicture = {
      width,
      height,
      scroll: lanesScroll.peek(),
      view,
      rows: rows.peek(),
      sections: models
        .filter((model) => model.header.peek())
        .map((model) => ({
          trace: model.id,
          duration: model.duration,
          items: model.items,
          painted: model.items && paintedOf(model, model.items, ink),
          summary: model.summary.peek(),
          memory: model.memory.curves,
          marked: model.marked,
        })),
      ink,
      critical: showCritical.peek(),
      arrows: showArrows.peek(),
      found: found.peek()?.names ?? null,
      selected: selectedSlice.peek(),
      hovered: hovered.peek(),
      area: selectedArea.peek(),
      mark: mark.peek(),
      ratio: devicePixelRatio || 1,
    };
    const left = drawLanes(sized(this.lanes, width, height), picture);
    const cursor = hovered.peek() || this.dragged ? null : pointer.time;
    const range = mark.peek() ?? selectedArea.peek();
    const ruler = sized(this.ruler, width, RULER_HEIGHT);
    drawRuler(ruler, width, RULER_HEIGHT, view, ink, cursor, range);
    this.drawWhole(models[0], width, ink);
    lastDrawn.at = performance.now();
    lastDrawn.version = models[0]?.version.peek() ?? 0;
    lastDrawn.sharp = models.every((model) => model.settled);
    frameTimes.push(lastDrawn.at - began);
    if (frameTimes.length > 200) frameTimes.shift();
    const before = arrowsLeftOut.peek();
    if (before.seen !== left.seen || before.drawn !== left.drawn) arrowsLeftOut.value = left;
  }

  /** The overview is drawn once; then only the window over it changes. */
  private drawWhole(whole: TraceModel | undefined, width: number, ink: Ink): void {
    const full = fitAll(duration.peek());
    const on = sized(this.overview, width, OVERVIEW_HEIGHT);
    const items = whole?.whole ?? null;
    const summary = whole?.summary.peek() ?? null;
    const key = [items, width, colouring.peek(), themeVersion.peek(), summary, full.t1, familyOfNode.peek()];
    if (!this.kept || this.kept.key.some((part, i) => part !== key[i])) {
      const canvas = this.kept?.canvas ?? document.createElement('canvas');
      const colours = items && whole ? paintedOf(whole, items, ink) : null;
      const once = sized(canvas, width, OVERVIEW_HEIGHT);
      const ratio = devicePixelRatio || 1;
      drawOverview(once, width, OVERVIEW_HEIGHT, items, colours, summary, full, ink, ratio);
      this.kept = { key, canvas };
    }
    on.drawImage(this.kept.canvas, 0, 0, width, OVERVIEW_HEIGHT);
    drawWindow(on, width, OVERVIEW_HEIGHT, full, timeView.peek(), ink);
  }
}
