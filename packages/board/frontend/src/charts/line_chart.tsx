/** A chart of lines: two canvases, one for the lines and one for what follows the pointer. */
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { copyText } from '../browser/clipboard.ts';
import { fitCanvas, textWidth } from '../scene/canvas_surface.ts';
import { forgetPaint, paintSoon } from '../scene/paint_queue.ts';
import { hoveredRun, stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { themeVersion } from '../style/theme.ts';
import { chartColours } from './chart_colours.ts';
import { type ChartView, type Curve, mapping, type Plot, type Span } from './chart_model.ts';
import { crosshair, pinnedCrosshair } from './crosshair.ts';
import { arrange, drawAxes, drawCurve, drawMarks, marksOf } from './draw_chart.ts';
import { type Drag, drawOverlay } from './draw_overlay.ts';
import { nearestIndex, orderTouches, touches } from './nearest.ts';
import { ReadableTable } from './readable_table.tsx';
import { type ShownChart, shownCharts } from './shown_charts.ts';
import { hideTooltip, nextOrder, showTooltip, tooltip } from './tooltip.tsx';

export interface LineChartProps {
  id: string;
  title: string;
  curves: Curve[];
  view: ChartView;
  /** Charts with the same axis share the cross-hair. */
  axis: string;
  width: number;
  height: number;
  /** The curves with as many points as there are to have, for pictures that are saved. */
  inFull?: () => Promise<Curve[]>;
  /** y is null where only x was chosen. */
  onZoom(x: Span, y: Span | null): void;
  onReset(): void;
}

const LEAST_DRAG = 5;

export function LineChart(props: LineChartProps) {
  const { id, title, curves, view, width, height } = props;
  const lines = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const element = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const shown = useMemo<ShownChart>(
    () => ({
      id,
      title,
      curves: [],
      view: null,
      axes: null,
      painted: -1,
      paintedAt: 0,
      width,
      height,
      inFull: null,
    }),
    [id],
  );
  const theme = themeVersion.value;
  const drag = useRef<Drag | null>(null);
  /** Whether the click that the browser tells of next was the end of a drag. */
  const wasDrag = useRef(false);
  /** The step cursor before the first click of a double click, which is none of its own. */
  const cursorBefore = useRef<number | null>(null);

  useLayoutEffect(() => {
    shownCharts.add(shown);
    return () => {
      shownCharts.delete(shown);
      forgetPaint(shown);
      hideTooltip(id);
      if (crosshair.peek()?.chart === id) crosshair.value = null;
      if (pinnedCrosshair.peek()?.chart === id) pinnedCrosshair.value = null;
    };
  }, [id, shown]);

  useLayoutEffect(() => {
    shown.painted = -1;
    paintSoon(shown, () => {
      const canvas = lines.current;
      if (!canvas) return;
      const colours = chartColours();
      const font = `11px ${colours.font}`;
      const axes = arrange(view, width, height, (text) => textWidth(text, font));
      const pen = fitCanvas(canvas, width, height);
      drawAxes(pen, view, axes, colours);
      pen.save();
      pen.beginPath();
      pen.rect(axes.plot.left, axes.plot.top - 1, axes.plot.width, axes.plot.height + 2);
      pen.clip();
      for (const curve of curves) drawCurve(pen, curve, view, axes.plot, curves.length);
      pen.restore();
      for (const curve of curves) drawMarks(pen, marksOf(curve, view, axes.plot), curve.colour, colours);
      const { inFull } = latest.current;
      Object.assign(shown, { title, curves, view, axes, width, height, inFull: inFull ?? null });
      shown.painted = curves.length;
      shown.paintedAt = performance.now();
      followData();
      drawOver();
    });
  }, [curves, view, width, height, theme]);

  /** The table beside the cross-hair tells of the curves that are drawn now. */
  const followData = () => {
    const state = tooltip.peek();
    if (state?.chart !== id || !shown.view || !shown.axes) return;
    const hair = pinnedCrosshair.peek() ?? crosshair.peek();
    if (hair?.chart !== id) return;
    showTooltip({
      ...state,
      view: shown.view,
      touches: touches(shown.curves, shown.view, shown.axes.plot, hair.x),
    });
  };
  const drawOver = () => {
    const canvas = over.current;
    const { axes } = shown;
    if (!canvas || !axes || !shown.view) return;
    const pen = fitCanvas(canvas, shown.width, shown.height);
    drawOverlay(pen, shown, latest.current.axis, drag.current, chartColours());
  };

  // The overlay follows signals without a new render.
  useEffect(() => {
    const stops = [crosshair, pinnedCrosshair, stepCursor, stepFrom, stepTo, hoveredRun].map((one) =>
      (one as typeof stepCursor).subscribe(() => paintSoon(over, drawOver)),
    );
    return () => {
      for (const stop of stops) stop();
      forgetPaint(over);
    };
  }, [shown]);

  const position = (event: PointerEvent | WheelEvent | MouseEvent) => {
    const box = element.current!.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const xAt = (px: number): number => {
    const plot = shown.axes!.plot;
    return mapping(shown.view!.x, shown.view!.xScale).from(clamp((px - plot.left) / plot.width));
  };
  const yAt = (py: number): number => {
    const plot = shown.axes!.plot;
    return mapping(shown.view!.y, shown.view!.yScale).from(clamp(1 - (py - plot.top) / plot.height));
  };
  const point = (x: number, y: number | null) => {
    crosshair.value = { x, axis: props.axis, chart: id };
    if (!shown.axes || !shown.view) return;
    const found = touches(shown.curves, shown.view, shown.axes.plot, x);
    const byNearest = orderTouches(found, 'nearest', y ?? 0);
    const nearest = byNearest[0];
    if (y !== null) hoveredRun.value = nearest?.curve.run ?? null;
    showTooltip({
      chart: id,
      anchor: element.current!,
      touches: found,
      view: shown.view,
      pointerX: mapping(shown.view.x, shown.view.xScale).to(x) * shown.axes.plot.width + shown.axes.plot.left,
      pointerY: y ?? shown.axes.plot.top + 8,
      nearest: nearest?.curve.id ?? null,
    });
  };
  const leave = () => {
    if (crosshair.peek()?.chart === id) crosshair.value = null;
    hoveredRun.value = null;
    if (pinnedCrosshair.peek()?.chart !== id) hideTooltip(id);
  };
  const unpin = () => {
    if (pinnedCrosshair.peek()?.chart === id) pinnedCrosshair.value = null;
    hideTooltip(id);
  };
  const pick = (x: number, y: number) => {
    pinnedCrosshair.value = { x, axis: props.axis, chart: id };
    point(x, y);
    if (props.axis !== 'step' || !shown.view || !shown.axes) return;
    const found = orderTouches(touches(shown.curves, shown.view, shown.axes.plot, x), 'nearest', y)[0];
    stepCursor.value = Math.round(found ? found.curve.x[found.index]! : x);
  };
  const zoomAbout = (x: number, factor: number) => {
    if (!shown.view) return;
    const map = mapping(shown.view.x, shown.view.xScale);
    const at = map.to(x);
    props.onZoom([map.from(at - at * factor), map.from(at + (1 - at) * factor)], null);
  };

  const isIn = ({ x, y }: { x: number; y: number }, plot: Plot) =>
    x >= plot.left - 4 && x <= plot.left + plot.width + 4 && y >= 0 && y <= plot.top + plot.height + 8;

  return (
    <>
      <div
        ref={element}
        class="chart"
        role="application"
        aria-roledescription="chart"
        aria-label={`${safeText(title, 200)}: ${curves.length} curves. Arrows move the cross-hair, plus and minus zoom, 0 resets.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it answers keys
        tabIndex={0}
        onPointerMove={(event) => {
          if (!shown.axes) return;
          const at = position(event);
          if (drag.current) {
            drag.current.toX = at.x;
            drag.current.toY = at.y;
            paintSoon(over, drawOver);
            return;
          }
          if (pinnedCrosshair.peek()?.chart === id) return;
          if (isIn(at, shown.axes.plot)) point(xAt(at.x), at.y);
          else leave();
        }}
        onPointerLeave={() => {
          if (!drag.current) leave();
        }}
        onPointerDown={(event) => {
          if (event.button !== 0 || !shown.axes) return;
          const at = position(event);
          if (!isIn(at, shown.axes.plot)) return;
          wasDrag.current = false;
          element.current!.setPointerCapture(event.pointerId);
          drag.current = { ...at, toX: at.x, toY: at.y, range: event.shiftKey && props.axis === 'step' };
        }}
        onPointerUp={(event) => {
          const done = drag.current;
          drag.current = null;
          if (!done || !shown.axes) return;
          const at = position(event);
          const wide = Math.abs(at.x - done.x);
          const high = Math.abs(at.y - done.y);
          wasDrag.current = wide >= LEAST_DRAG || high >= LEAST_DRAG * 3;
          if (!wasDrag.current) return;
          const [from, to] = [xAt(done.x), xAt(at.x)].sort((a, b) => a - b) as Span;
          if (done.range) {
            stepFrom.value = Math.round(from);
            stepTo.value = Math.round(to);
          } else if (high > 30 && wide >= LEAST_DRAG) {
            props.onZoom([from, to], [yAt(done.y), yAt(at.y)].sort((a, b) => a - b) as Span);
          } else if (high > 30) {
            props.onZoom(shown.view!.x, [yAt(done.y), yAt(at.y)].sort((a, b) => a - b) as Span);
          } else {
            props.onZoom([from, to], null);
          }
          paintSoon(over, drawOver);
        }}
        onPointerCancel={() => {
          drag.current = null;
          paintSoon(over, drawOver);
        }}
        onClick={(event) => {
          const at = position(event);
          if (wasDrag.current || !shown.axes || !isIn(at, shown.axes.plot)) {
            wasDrag.current = false;
            return;
          }
          if (event.detail > 1) return;
          cursorBefore.current = stepCursor.peek();
          if (pinnedCrosshair.peek()?.chart === id) unpin();
          else pick(xAt(at.x), at.y);
        }}
        onDblClick={() => {
          stepCursor.value = cursorBefore.current;
          unpin();
          props.onReset();
        }}
        onWheel={(event) => {
          if (
            !shown.axes ||
            !(event.ctrlKey || event.metaKey || event.altKey || document.activeElement === element.current)
          )
            return;
          event.preventDefault();
          const at = position(event);
          if (event.shiftKey) {
            const map = mapping(shown.view!.x, shown.view!.xScale);
            const by = Math.sign(event.deltaY + event.deltaX) * 0.1;
            props.onZoom([map.from(by), map.from(1 + by)], null);
          } else {
            zoomAbout(xAt(at.x), event.deltaY > 0 ? 1.25 : 0.8);
          }
        }}
        onFocus={() => {
          element.current!.dataset.focus = '1';
        }}
        onBlur={() => {
          if (element.current) delete element.current.dataset.focus;
          if (pinnedCrosshair.peek()?.chart !== id) leave();
        }}
        onKeyDown={(event) => {
          // Those are the browser's and the page's.
          if (!shown.view || !shown.axes || event.ctrlKey || event.metaKey || event.altKey) return;
          const now = pinnedCrosshair.peek()?.chart === id ? pinnedCrosshair.peek() : crosshair.peek();
          const [from, to] = shown.view.x;
          const x = now?.chart === id ? now.x : (from + to) / 2;
          const go = (next: number) => {
            const at = Math.max(from, Math.min(to, next));
            if (pinnedCrosshair.peek()?.chart === id)
              pinnedCrosshair.value = { x: at, axis: props.axis, chart: id };
            point(at, null);
          };
          const stepBy = (by: number) => {
            const map = mapping(shown.view!.x, shown.view!.xScale);
            const guide = shown.curves.find((c) => c.run === hoveredRun.peek()) ?? shown.curves[0];
            const index = guide ? nearestIndex(guide, x) : -1;
            const jump = map.from(map.to(x) + (by * 1) / shown.axes!.plot.width);
            const next =
              guide && index >= 0 ? guide.x[Math.max(0, Math.min(guide.x.length - 1, index + by))]! : jump;
            go(Math.abs(map.to(next) - map.to(x)) * shown.axes!.plot.width < 1 ? jump : next);
          };
          switch (event.key) {
            case 'ArrowRight':
              stepBy(event.shiftKey ? 10 : 1);
              break;
            case 'ArrowLeft':
              stepBy(event.shiftKey ? -10 : -1);
              break;
            case 'ArrowUp':
            case 'ArrowDown': {
              const order = orderTouches(touches(shown.curves, shown.view, shown.axes.plot, x), 'highest', 0);
              const at = order.findIndex((t) => t.curve.run === hoveredRun.peek());
              const next = order[at < 0 ? 0 : at + (event.key === 'ArrowUp' ? -1 : 1)];
              if (next) hoveredRun.value = next.curve.run;
              go(x);
              break;
            }
            case 'Enter': {
              const order = orderTouches(touches(shown.curves, shown.view, shown.axes.plot, x), 'nearest', 0);
              const chosen = order.find((t) => t.curve.run === hoveredRun.peek()) ?? order[0];
              if (chosen) void copyText(chosen.curve.label);
              break;
            }
            case ' ':
              if (pinnedCrosshair.peek()?.chart === id) unpin();
              else pick(x, 0);
              break;
            case '+':
            case '=':
              zoomAbout(x, 0.7);
              break;
            case '-':
              zoomAbout(x, 1 / 0.7);
              break;
            case '0':
              props.onReset();
              break;
            case 's':
              nextOrder();
              break;
            case 'Escape':
              if (pinnedCrosshair.peek()?.chart === id || crosshair.peek()?.chart === id) {
                unpin();
                leave();
              } else return;
              break;
            default:
              return;
          }
          event.preventDefault();
        }}
      >
        <canvas ref={lines} />
        <canvas ref={over} class="over" />
      </div>
      <ReadableTable title={title} curves={curves} />
    </>
  );
}

const clamp = (part: number): number => Math.max(0, Math.min(1, part));
