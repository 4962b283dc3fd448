/** The pointer on a chart: it moves the cross-hair, a click pins it, a drag zooms or selects steps. */
import type { RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import { stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import type { ChartActions } from './chart_actions.ts';
import { mapping, type Plot, type Span } from './chart_model.ts';
import type { Drag } from './draw_overlay.ts';
import type { ShownChart } from './shown_charts.ts';

/** A press that moves less is a click, in CSS pixels. */
const LEAST_DRAG = 5;
/** A drag this high chooses a range of y as well. */
const LEAST_HEIGHT = 30;

interface Options {
  chart: ShownChart;
  /** Names the kind of x. */
  axis: string;
  element: RefObject<HTMLDivElement | null>;
  drag: RefObject<Drag | null>;
  actions: ChartActions;
  repaintOverlay(): void;
  onZoom(x: Span, y: Span | null): void;
  onReset(): void;
}

export function useChartPointer(options: Options) {
  const { chart, axis, element, drag, actions, repaintOverlay, onZoom, onReset } = options;
  /** Whether the click event that follows is the end of a drag. */
  const wasDrag = useRef(false);
  /** The step cursor before the first click of a double click, which does not move it. */
  const cursorBefore = useRef<number | null>(null);

  const position = (event: MouseEvent) => {
    const box = element.current!.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const finishDrag = (done: Drag, x: number, y: number) => {
    const xRange = inOrder(actions.xAt(done.x), actions.xAt(x));
    const yRange = () => inOrder(actions.yAt(done.y), actions.yAt(y));
    const isHigh = Math.abs(y - done.y) > LEAST_HEIGHT;
    if (done.range) {
      stepFrom.value = Math.round(xRange[0]);
      stepTo.value = Math.round(xRange[1]);
    } else if (!isHigh) onZoom(xRange, null);
    else onZoom(Math.abs(x - done.x) >= LEAST_DRAG ? xRange : chart.view!.x, yRange());
  };

  return {
    onPointerMove: (event: PointerEvent) => {
      if (!chart.axes) return;
      const at = position(event);
      if (drag.current) {
        drag.current.toX = at.x;
        drag.current.toY = at.y;
        repaintOverlay();
        return;
      }
      if (actions.isPinned()) return;
      if (isNear(at, chart.axes.plot)) actions.point(actions.xAt(at.x), at.y);
      else actions.leave();
    },
    onPointerLeave: () => {
      if (!drag.current) actions.leave();
    },
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0 || !chart.axes) return;
      const at = position(event);
      if (!isNear(at, chart.axes.plot)) return;
      wasDrag.current = false;
      element.current!.setPointerCapture(event.pointerId);
      drag.current = { ...at, toX: at.x, toY: at.y, range: event.shiftKey && axis === 'step' };
    },
    onPointerUp: (event: PointerEvent) => {
      const done = drag.current;
      drag.current = null;
      if (!done || !chart.axes) return;
      const { x, y } = position(event);
      wasDrag.current = Math.abs(x - done.x) >= LEAST_DRAG || Math.abs(y - done.y) >= LEAST_DRAG * 3;
      if (!wasDrag.current) return;
      finishDrag(done, x, y);
      repaintOverlay();
    },
    onPointerCancel: () => {
      drag.current = null;
      repaintOverlay();
    },
    onClick: (event: MouseEvent) => {
      const at = position(event);
      if (wasDrag.current || !chart.axes || !isNear(at, chart.axes.plot)) {
        wasDrag.current = false;
        return;
      }
      if (event.detail > 1) return;
      cursorBefore.current = stepCursor.peek();
      if (actions.isPinned()) actions.unpin();
      else actions.pin(actions.xAt(at.x), at.y);
    },
    onDblClick: () => {
      stepCursor.value = cursorBefore.current;
      actions.unpin();
      onReset();
    },
    onWheel: (event: WheelEvent) => {
      const hasFocus = document.activeElement === element.current;
      if (!chart.axes || !(event.ctrlKey || event.metaKey || event.altKey || hasFocus)) return;
      event.preventDefault();
      if (event.shiftKey) {
        const map = mapping(chart.view!.x, chart.view!.xScale);
        const by = Math.sign(event.deltaY + event.deltaX) * 0.1;
        onZoom([map.from(by), map.from(1 + by)], null);
      } else {
        actions.zoomAbout(actions.xAt(position(event).x), event.deltaY > 0 ? 1.25 : 0.8);
      }
    },
  };
}

const inOrder = (a: number, b: number): Span => (a < b ? [a, b] : [b, a]);

/** Whether a place lies in the plot, or in the margins where a drag may begin. */
const isNear = ({ x, y }: { x: number; y: number }, { left, top, width, height }: Plot): boolean =>
  x >= left - 4 && x <= left + width + 4 && y >= 0 && y <= top + height + 8;
