/** The lanes: titles at the left, the canvas beside them, the ruler and the overview above. */
import { useSignalEffect } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { themeVersion } from '../style/theme.ts';
import { drawLanes } from './draw_lanes.ts';
import { drawOverview, drawRuler, drawWindow } from './draw_overview.ts';
import { Corner, Gutter, Tall } from './gutter.tsx';
import { HoverCard, hovered } from './hover_card.tsx';
import { goToSlice, pointer } from './keys.ts';
import type { LanesPicture } from './lanes_picture.ts';
import { Overview } from './overview_bar.tsx';
import { lanesBetween, type Row, rowAt } from './rows.ts';
import { clamped, fitAll, panBy, spanOf, timeAt, zoomAbout } from './time_view.ts';
import { type Ink, inkNow, type Painted, paint } from './trace_colours.ts';
import { familyOfNode } from './trace_families.ts';
import { itemAt, type TraceItems } from './trace_items.ts';
import type { TraceModel } from './trace_model.ts';
import { found } from './trace_search.ts';
import {
  colouring,
  duration,
  lanesHeight,
  lanesWidth,
  mark,
  rows,
  sections,
  selectArea,
  selectedArea,
  selectedSlice,
  selectSlice,
  showArrows,
  showCritical,
  shown,
  timeView,
  windowOfTime,
} from './trace_state.ts';

const GUTTER = 188;
const OVERVIEW_HEIGHT = 48;
const RULER_HEIGHT = 24;
const WHEEL = 0.0016;

/** How long drawing took, the last times; for tests. */
export const frameTimes: number[] = [];
/** When the window was last drawn, and of which items; for tests. */
export const lastDrawn = { at: 0, version: 0, sharp: false };

const painted = new WeakMap<TraceItems, { key: string; of: Painted }>();

function paintedOf(model: TraceModel, items: TraceItems, ink: Ink): Painted {
  const by = colouring.peek();
  const key = `${by} ${themeVersion.peek()} ${by === 'family' && familyOfNode.peek() !== null}`;
  const kept = painted.get(items);
  if (kept?.key === key) return kept.of;
  const header = model.header.peek()!;
  const of = paint(items, header.ops, header.lanes, colouring.peek(), ink);
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

export function LanesView() {
  const outer = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const lanes = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const overview = useRef<HTMLCanvasElement>(null);
  const size = useRef({ width: 0, height: 0 });
  const frame = useRef(0);
  const kept = useRef<{ key: unknown[]; canvas: HTMLCanvasElement } | null>(null);
  const drag = useRef<Drag | null>(null);

  const draw = () => {
    frame.current = 0;
    const { width, height } = size.current;
    if (width < 10 || !lanes.current || !ruler.current || !overview.current || !scroller.current) return;
    const began = performance.now();
    const ink = inkNow();
    const view = timeView.peek();
    const models = shown.peek();
    const scroll = scroller.current.scrollTop;
    const picture: LanesPicture = {
      width,
      height,
      scroll,
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
          memory: model.memory,
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
    drawLanes(sized(lanes.current, width, height), picture);
    const area = selectedArea.peek();
    drawRuler(
      sized(ruler.current, width, RULER_HEIGHT),
      width,
      RULER_HEIGHT,
      view,
      ink,
      hovered.peek() || drag.current ? null : pointer.time,
      mark.peek() ?? area,
    );
    const whole = models[0];
    const full = fitAll(duration.peek());
    const on = sized(overview.current, width, OVERVIEW_HEIGHT);
    const key = [
      ...[whole?.whole, width, colouring.peek(), themeVersion.peek(), whole?.summary.peek(), full.t1],
      familyOfNode.peek(),
    ];
    if (!kept.current || kept.current.key.some((part, i) => part !== key[i])) {
      const canvas = kept.current?.canvas ?? document.createElement('canvas');
      const items = whole?.whole ?? null;
      drawOverview(
        sized(canvas, width, OVERVIEW_HEIGHT),
        width,
        OVERVIEW_HEIGHT,
        items,
        items && whole ? paintedOf(whole, items, ink) : null,
        whole?.summary.peek() ?? null,
        full,
        ink,
      );
      kept.current = { key, canvas };
    }
    on.drawImage(kept.current.canvas, 0, 0, width, OVERVIEW_HEIGHT);
    drawWindow(on, width, OVERVIEW_HEIGHT, full, view, ink);
    const seen = picture.rows
      .filter((row) => row.y + row.height > scroll - 200 && row.y < scroll + height + 200)
      .flatMap((row) => row.lanes.map((lane) => [row.section, lane] as const));
    picture.sections.forEach((section, s) => {
      const model = models.find((one) => one.id === section.trace);
      const mine = seen.filter(([of]) => of === s).map(([, lane]) => lane);
      model?.show(view.t0, view.t1, width, mine);
    });
    lastDrawn.at = performance.now();
    lastDrawn.version = models[0]?.version.peek() ?? 0;
    lastDrawn.sharp = models.every((model) => model.settled);
    frameTimes.push(lastDrawn.at - began);
    if (frameTimes.length > 200) frameTimes.shift();
  };
  const redraw = () => {
    frame.current ||= requestAnimationFrame(draw);
  };

  useSignalEffect(() => {
    for (const model of shown.value) {
      void model.version.value;
      void model.header.value;
      void model.summary.value;
    }
    void [timeView.value, rows.value, colouring.value, themeVersion.value, showCritical.value];
    void [showArrows.value, found.value, selectedSlice.value, hovered.value, selectedArea.value];
    void [mark.value, duration.value, familyOfNode.value];
    redraw();
  });

  useLayoutEffect(() => {
    const element = outer.current;
    if (!element) return;
    const measure = () => {
      const box = element.getBoundingClientRect();
      const bar = scroller.current ? scroller.current.offsetWidth - scroller.current.clientWidth : 0;
      const width = Math.floor(box.width - GUTTER - bar);
      const height = Math.floor(box.height - OVERVIEW_HEIGHT - RULER_HEIGHT);
      size.current = { width, height };
      lanesWidth.value = Math.max(100, width);
      lanesHeight.value = height;
      redraw();
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, []);

  // preventDefault needs a listener that is not passive.
  useEffect(() => {
    const wheel = (event: WheelEvent) => {
      const { width } = size.current;
      const view = timeView.peek();
      if (event.shiftKey && !event.ctrlKey) {
        if (scroller.current) scroller.current.scrollTop += event.deltaY;
        event.preventDefault();
        return;
      }
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 20 : 1;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        windowOfTime.value = panBy(view, (event.deltaX * unit * spanOf(view)) / width, duration.peek());
        return;
      }
      const canvas = event.currentTarget as HTMLCanvasElement;
      const x = event.clientX - canvas.getBoundingClientRect().left;
      const factor = Math.exp(Math.max(-240, Math.min(240, event.deltaY * unit)) * WHEEL);
      const full = canvas === overview.current;
      const at = full ? (view.t0 + view.t1) / 2 : timeAt(view, width, x);
      windowOfTime.value = zoomAbout(view, at, factor, duration.peek());
    };
    const canvases = [lanes.current, ruler.current, overview.current];
    for (const canvas of canvases) canvas?.addEventListener('wheel', wheel, { passive: false });
    return () => {
      for (const canvas of canvases) canvas?.removeEventListener('wheel', wheel);
    };
  }, []);

  const place = (event: PointerEvent): Pointed => {
    const canvas = lanes.current!;
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top + (scroller.current?.scrollTop ?? 0);
    const time = timeAt(timeView.peek(), size.current.width, x);
    return { x, y, time, row: rowAt(rows.peek(), y) };
  };

  const hover = (event: PointerEvent) => {
    const at = place(event);
    pointer.time = at.time;
    const hit = hitOf(at, size.current.width);
    const now = hovered.peek();
    if (!hit) {
      if (now) hovered.value = null;
      else redraw();
      return;
    }
    hovered.value = { ...hit, x: event.clientX, y: event.clientY };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0 && event.button !== 1) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const at = place(event);
    const kind = event.shiftKey ? 'area' : 'pan';
    drag.current = { kind, x: event.clientX, y: event.clientY, at, view: timeView.peek(), moved: false };
    drag.current.scroll = scroller.current?.scrollTop ?? 0;
  };

  const move = (event: PointerEvent) => {
    const now = drag.current;
    if (!now) {
      hover(event);
      return;
    }
    const [dx, dy] = [event.clientX - now.x, event.clientY - now.y];
    if (!now.moved && Math.hypot(dx, dy) < 4) return;
    now.moved = true;
    hovered.value = null;
    const { width } = size.current;
    if (now.kind === 'pan') {
      windowOfTime.value = clamped(
        {
          t0: now.view.t0 - (dx * spanOf(now.view)) / width,
          t1: now.view.t1 - (dx * spanOf(now.view)) / width,
        },
        duration.peek(),
      );
      if (scroller.current) scroller.current.scrollTop = (now.scroll ?? 0) - dy;
      return;
    }
    const at = place(event);
    const section = now.at.row?.section ?? 0;
    const model = modelOfSection(section);
    if (!model) return;
    const chosen = now.kind === 'range' ? null : lanesBetween(rows.peek(), section, now.at.y, at.y);
    selectArea({
      trace: model.id,
      t0: Math.max(0, Math.min(now.at.time, at.time)),
      t1: Math.max(1, Math.max(now.at.time, at.time)),
      lanes: chosen,
    });
  };

  const up = (event: PointerEvent) => {
    const now = drag.current;
    drag.current = null;
    if (!now || now.moved) return;
    if (now.kind === 'range') {
      selectArea(null);
      return;
    }
    const at = place(event);
    const hit = hitOf(at, size.current.width);
    if (!hit) {
      selectSlice(0, null);
      selectArea(null);
      return;
    }
    const model = shown.peek().find((one) => one.id === hit.trace);
    const columns = model?.items?.columns;
    if (!model || !columns) return;
    const i = hit.item;
    if (columns.count[i]! > 1 && event.detail >= 2) {
      windowOfTime.value = {
        t0: columns.start[i]!,
        t1: columns.start[i]! + Math.max(10, columns.dur[i]!),
      };
      return;
    }
    void goToSlice(model.id, columns.slice[i]!);
  };

  const startRange = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    const box = lanes.current!.getBoundingClientRect();
    const x = event.clientX - box.left;
    const at = { x, y: 0, time: timeAt(timeView.peek(), size.current.width, x), row: null };
    drag.current = {
      kind: 'range',
      x: event.clientX,
      y: event.clientY,
      at,
      view: timeView.peek(),
      moved: false,
    };
  };

  return (
    <div class="trace-lanes" ref={outer}>
      <div class="trace-corner">
        <Corner />
      </div>
      <Overview canvas={overview} size={size} />
      <canvas
        ref={ruler}
        class="trace-ruler"
        role="img"
        aria-label="Time ruler"
        title="Drag to select a range of time"
        onPointerDown={startRange}
        onPointerMove={(event) => drag.current && move(event)}
        onPointerUp={up}
      />
      <div class="trace-scroll" ref={scroller} onScroll={redraw}>
        <Tall>
          <Gutter />
          <canvas
            ref={lanes}
            class="trace-canvas"
            tabIndex={0}
            role="img"
            aria-label="Lanes of the step. Arrow keys go from slice to slice; the list after it says what is seen."
            aria-describedby="trace-mirror"
            onPointerDown={down}
            onPointerMove={move}
            onPointerUp={up}
            onPointerLeave={() => {
              pointer.time = null;
              hovered.value = null;
              redraw();
            }}
          />
        </Tall>
      </div>
      <HoverCard />
    </div>
  );
}

interface Pointed {
  x: number;
  y: number;
  time: number;
  row: Row | null;
}

interface Drag {
  kind: 'pan' | 'area' | 'range';
  x: number;
  y: number;
  at: Pointed;
  view: { t0: number; t1: number };
  moved: boolean;
  scroll?: number;
}

function modelOfSection(section: number): TraceModel | null {
  const trace = sections.peek()[section]?.trace;
  return shown.peek().find((model) => model.id === trace) ?? null;
}

/** The item under the pointer. */
function hitOf({ row, y, time }: Pointed, width: number): { trace: number; item: number } | null {
  if (!row?.lanes.length) return null;
  const model = modelOfSection(row.section);
  if (!model?.items) return null;
  const lane =
    row.lanes[Math.min(row.lanes.length - 1, Math.floor(((y - row.y) / row.height) * row.lanes.length))]!;
  const slop = (3 * spanOf(timeView.peek())) / width;
  const item = itemAt(model.items, lane, time, slop);
  return item < 0 ? null : { trace: model.id, item };
}
