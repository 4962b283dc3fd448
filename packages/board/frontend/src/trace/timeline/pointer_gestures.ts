/** Pointer gestures on the timeline and the ruler: zoom, pan, select. */

import { windowOfTime } from '../address/address_fields.ts';
import { tracksBetween } from '../layout/rows.ts';
import { clamped, fitRange, panBy, spanOf, timeAt, zoomAbout } from '../layout/time_view.ts';
import { goToSlice, selectArea, selectSlice } from '../state/trace_selection.ts';
import { duration, rows, timelineScroll, timelineWidth, timeView } from '../state/trace_state.ts';
import { hitAt, hovered, modelOfSection, type Pointed, pointedAt, pointer, updateHover } from './hit_test.ts';
import type { TimelineCanvas } from './timeline_canvas.ts';

const WHEEL = 0.0016;
/** A press and release that moves less than this is a click. */
const STILL_PX = 4;

interface Drag {
  kind: 'pan' | 'area' | 'range';
  x: number;
  y: number;
  at: Pointed;
  view: { t0: number; t1: number };
  scroll: number;
  moved: boolean;
}

export class PointerGestures {
  private readonly canvas: TimelineCanvas;
  private readonly scroller: HTMLElement;
  private drag: Drag | null = null;

  constructor(canvas: TimelineCanvas, scroller: HTMLElement) {
    this.canvas = canvas;
    this.scroller = scroller;
  }

  /** Starts listening. Returns: a function that ends it. */
  listen(): () => void {
    const { lanes, ruler, overview } = this.canvas;
    const stop = new AbortController();
    const { signal } = stop;
    const on = (element: HTMLElement, kind: string, handle: (event: never) => void) =>
      element.addEventListener(kind, handle as EventListener, { signal, passive: false });
    for (const canvas of [lanes, ruler, overview]) on(canvas, 'wheel', this.wheel);
    on(lanes, 'pointerdown', this.down);
    on(ruler, 'pointerdown', this.downOnRuler);
    on(lanes, 'pointermove', this.move);
    on(ruler, 'pointermove', (event: PointerEvent) => this.drag && this.move(event));
    for (const canvas of [lanes, ruler]) {
      on(canvas, 'pointerup', this.up);
      on(canvas, 'pointercancel', this.cancel);
    }
    on(lanes, 'dblclick', this.double);
    on(lanes, 'pointerleave', this.leave);
    return () => stop.abort();
  }

  private readonly wheel = (event: WheelEvent) => {
    event.preventDefault();
    const view = timeView.peek();
    if (event.shiftKey && !event.ctrlKey) {
      this.scroller.scrollTop += event.deltaY;
      return;
    }
    const width = timelineWidth.peek();
    const unit = event.deltaMode === 1 ? 20 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      windowOfTime.value = panBy(view, (event.deltaX * unit * spanOf(view)) / width, duration.peek());
      return;
    }
    const canvas = event.currentTarget as HTMLCanvasElement;
    const x = event.clientX - canvas.getBoundingClientRect().left;
    const factor = Math.exp(Math.max(-240, Math.min(240, event.deltaY * unit)) * WHEEL);
    const full = canvas === this.canvas.overview;
    const at = full ? (view.t0 + view.t1) / 2 : timeAt(view, width, x);
    windowOfTime.value = zoomAbout(view, at, factor, duration.peek());
  };

  private place(event: MouseEvent): Pointed {
    const box = this.canvas.lanes.getBoundingClientRect();
    return pointedAt(event.clientX - box.left, event.clientY - box.top);
  }

  private begin(kind: Drag['kind'], event: PointerEvent, at: Pointed): void {
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const { clientX: x, clientY: y } = event;
    this.drag = { kind, x, y, at, view: timeView.peek(), scroll: timelineScroll.peek(), moved: false };
  }

  private readonly down = (event: PointerEvent) => {
    if (event.button !== 0 && event.button !== 1) return;
    this.begin(event.shiftKey ? 'area' : 'pan', event, this.place(event));
  };

  private readonly downOnRuler = (event: PointerEvent) => {
    if (event.button === 0) this.begin('range', event, { ...this.place(event), y: 0, row: null });
  };

  private hover(event: PointerEvent): void {
    const at = this.place(event);
    pointer.time = at.time;
    pointer.x = at.x;
    pointer.y = at.y;
    pointer.clientX = event.clientX;
    pointer.clientY = event.clientY;
    updateHover();
    this.canvas.redraw();
  }

  private readonly move = (event: PointerEvent) => {
    const now = this.drag;
    if (!now) {
      this.hover(event);
      return;
    }
    const [dx, dy] = [event.clientX - now.x, event.clientY - now.y];
    if (!now.moved && Math.hypot(dx, dy) < STILL_PX) return;
    now.moved = true;
    this.canvas.dragged = true;
    hovered.value = null;
    if (now.kind === 'pan') {
      const by = (-dx * spanOf(now.view)) / timelineWidth.peek();
      const moved = { t0: now.view.t0 + by, t1: now.view.t1 + by };
      windowOfTime.value = clamped(moved, duration.peek());
      this.scroller.scrollTop = now.scroll - dy;
      return;
    }
    const at = this.place(event);
    const section = now.at.row?.section ?? 0;
    const model = modelOfSection(section);
    if (!model) return;
    const all = now.kind === 'range';
    const lanes = all ? null : tracksBetween(rows.peek(), section, now.at.y, at.y, timelineScroll.peek());
    const t0 = Math.max(0, Math.min(now.at.time, at.time));
    selectArea({ trace: model.id, t0, t1: Math.max(t0 + 1, now.at.time, at.time), lanes });
  };

  private readonly up = (event: PointerEvent) => {
    const now = this.drag;
    this.end();
    if (!now || now.moved) return;
    if (now.kind === 'range') {
      selectArea(null);
      return;
    }
    const hit = hitAt(this.place(event));
    if (hit) {
      void goToSlice(hit.trace, hit.slice);
      return;
    }
    selectSlice(0, null);
    selectArea(null);
  };

  /** Zooms in on the item that was double-clicked. */
  private readonly double = (event: MouseEvent) => {
    const hit = hitAt(this.place(event));
    if (!hit) return;
    const { start, dur, merged } = hit;
    windowOfTime.value = fitRange(start, start + dur, duration.peek(), merged ? 1 : 0.5);
  };

  /** The browser uses the pointer for its own gesture, so it selects nothing. */
  private readonly cancel = () => this.end();

  private end(): void {
    this.drag = null;
    this.canvas.dragged = false;
    this.canvas.redraw();
  }

  private readonly leave = () => {
    pointer.time = null;
    hovered.value = null;
    this.canvas.redraw();
  };
}
