/** The three canvases of the timeline: drawn at most once a frame, when something changed. */
import { signal } from '@preact/signals';
import { themeVersion } from '../../style/theme.ts';
import { record } from '../../testing/test_hook.ts';
import { colouring, mark, showArrows, showCritical } from '../address/address_fields.ts';
import { familyOfNode } from '../data/node_families.ts';
import type { TraceItems } from '../data/trace_items.ts';
import type { TraceModel } from '../data/trace_model.ts';
import type { ArrowCounts } from '../draw/draw_arrows.ts';
import { drawOverview, drawRuler, drawWindow } from '../draw/draw_overview.ts';
import { drawTimeline } from '../draw/draw_tracks.ts';
import type { TimelineScene } from '../draw/timeline_scene.ts';
import { type Painted, paint, type ThemeColours, themeColours } from '../draw/trace_colours.ts';
import { topOf } from '../layout/rows.ts';
import { fitAll } from '../layout/time_view.ts';
import { found } from '../state/trace_search.ts';
import {
  duration,
  rows,
  sections,
  selectedArea,
  selectedSlice,
  shown,
  timelineHeight,
  timelineScroll,
  timelineWidth,
  timeView,
} from '../state/trace_state.ts';
import { hovered, pointer, updateHover } from './hit_test.ts';

export const OVERVIEW_HEIGHT = 48;
export const RULER_HEIGHT = 24;
/** Tracks this close to the visible ones are requested too. */
const BEYOND_PX = 200;

/** Visible and drawn arrows of the last frame. */
export const arrowCounts = signal<ArrowCounts>({ seen: 0, drawn: 0 });

const painted = new WeakMap<TraceItems, { key: string; of: Painted }>();

function paintedOf(model: TraceModel, items: TraceItems, ink: ThemeColours): Painted {
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

/** Reports the visible window and tracks to each trace, which fetches what is missing. */
export function requestWindows(): void {
  const view = timeView.peek();
  const scroll = timelineScroll.peek();
  const height = timelineHeight.peek();
  const seen = rows.peek().filter((row) => {
    const top = topOf(row, scroll);
    return top + row.height > -BEYOND_PX && top < height + BEYOND_PX;
  });
  sections.peek().forEach((section, s) => {
    const model = shown.peek().find((one) => one.id === section.trace);
    const lanes = seen.filter((row) => row.section === s).flatMap((row) => row.lanes);
    model?.show({ t0: view.t0, t1: view.t1, width: timelineWidth.peek(), lanes });
  });
}

export class TimelineCanvas {
  readonly lanes: HTMLCanvasElement;
  readonly ruler: HTMLCanvasElement;
  readonly overview: HTMLCanvasElement;
  /** While the pointer drags, the ruler shows no cursor. */
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
    const [width, height] = [timelineWidth.peek(), timelineHeight.peek()];
    if (width < 10 || height < 1) return;
    if (!this.dragged) updateHover();
    const ink = themeColours();
    const view = timeView.peek();
    const models = shown.peek();
    const picture: TimelineScene = {
      width,
      height,
      scroll: timelineScroll.peek(),
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
    const left = drawTimeline(sized(this.lanes, width, height), picture);
    const cursor = hovered.peek() || this.dragged ? null : pointer.time;
    const range = mark.peek() ?? selectedArea.peek();
    const ruler = sized(this.ruler, width, RULER_HEIGHT);
    drawRuler(ruler, width, RULER_HEIGHT, view, ink, cursor, range);
    this.drawWhole(models[0], width, ink);
    // Sharp: the items are as fine as the window needs.
    record('timeline', () => ({ at: performance.now(), sharp: models.every((model) => model.settled) }));
    const before = arrowCounts.peek();
    if (before.seen !== left.seen || before.drawn !== left.drawn) arrowCounts.value = left;
  }

  /** Draws the overview; its content is cached, because usually only the window over it changes. */
  private drawWhole(whole: TraceModel | undefined, width: number, ink: ThemeColours): void {
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
