/** Pointer gestures of the scatter plot: turn, pan, zoom, hover, select a point or a box. */
import { type Signal, useSignal } from '@preact/signals';
import type { RefObject, TargetedPointerEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Camera, panned, type Screen, turned, zoomedAt } from '../../scene/orbit_camera.ts';
import { boxTool, focusRow, hoveredPoint, pickedRows } from '../address/address_fields.ts';
import { table } from '../data/projector_data.ts';
import type { Drawn } from '../projection/projection.ts';
import { pointIndex } from './paint_scatter.ts';
import { type Box, pointAt, pointsIn } from './point_hit.ts';

const REACH_PX = 12;
const TURN_PER_PIXEL = 0.008;
const WHEEL = 0.0035;
/** A pointer that moves less than this between press and release clicks. */
const CLICK_PX = 4;

type PointerEvents = TargetedPointerEvent<HTMLCanvasElement>;

export interface PointedView {
  drawn: Drawn | null;
  rank: Uint8Array;
  /** Whether points are images, which are larger. */
  tiled: boolean;
  /** The camera of the picture that is shown. */
  now: Camera;
  width: number;
  height: number;
  screen: RefObject<Screen | null>;
  look(next: Camera): void;
}

interface Drag {
  x: number;
  y: number;
  kind: 'turn' | 'pan' | 'box';
  moved: boolean;
}

/** Zooms about the pointer when the wheel turns. A passive listener could not keep the page from scrolling. */
export function useWheelZoom(
  canvas: RefObject<HTMLCanvasElement | null>,
  now: () => Camera,
  look: (next: Camera) => void,
) {
  const latest = useRef({ now, look });
  latest.current = { now, look };
  useEffect(() => {
    const element = canvas.current!;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const bounds = element.getBoundingClientRect();
      const x = event.clientX - bounds.left - bounds.width / 2;
      const y = event.clientY - bounds.top - bounds.height / 2;
      const factor = Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * WHEEL);
      const { now: camera, look: move } = latest.current;
      move(zoomedAt(camera(), factor, x, y, bounds.width, bounds.height));
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  }, [canvas]);
}

/** Returns: the box that is being dragged, and the handlers for the canvas on top. */
export function useScatterPointer(): {
  box: Signal<Box | null>;
  handlers: (view: PointedView) => Record<string, (event: PointerEvents) => void>;
} {
  const box = useSignal<Box | null>(null);
  const drag = useRef<Drag | null>(null);
  const handlers = (view: PointedView) => ({
    onPointerDown: (event: PointerEvents) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      drag.current = beginDrag(event, view.drawn?.flat ?? false);
      hoveredPoint.value = null;
    },
    onPointerMove: (event: PointerEvents) => {
      const [x, y] = positionOf(event);
      const held = drag.current;
      if (held) continueDrag(held, x, y, view, box);
      else hoveredPoint.value = pointUnder(view, x, y);
    },
    onPointerUp: (event: PointerEvents) => {
      const held = drag.current;
      drag.current = null;
      if (!held) return;
      box.value = null;
      endDrag(held, event, view);
    },
    onPointerCancel: () => {
      drag.current = null;
      box.value = null;
    },
    onPointerLeave: () => {
      if (!drag.current) hoveredPoint.value = null;
    },
  });
  return { box, handlers };
}

function positionOf(event: PointerEvents): [number, number] {
  const bounds = event.currentTarget.getBoundingClientRect();
  return [event.clientX - bounds.left, event.clientY - bounds.top];
}

function beginDrag(event: PointerEvents, flat: boolean): Drag {
  const [x, y] = positionOf(event);
  const boxes = event.button === 0 && (event.shiftKey || boxTool.value);
  const pans = event.button !== 0 || event.altKey || event.ctrlKey || flat;
  return { x, y, kind: boxes ? 'box' : pans ? 'pan' : 'turn', moved: false };
}

function continueDrag(drag: Drag, x: number, y: number, view: PointedView, box: Signal<Box | null>): void {
  const [dx, dy] = [x - drag.x, y - drag.y];
  if (!drag.moved && Math.hypot(dx, dy) < CLICK_PX) return;
  drag.moved = true;
  if (drag.kind === 'box') {
    box.value = [drag.x, drag.y, x, y];
    return;
  }
  drag.x = x;
  drag.y = y;
  if (drag.kind === 'pan') view.look(panned(view.now, dx, dy, view.width, view.height));
  else view.look(turned(view.now, -dx * TURN_PER_PIXEL, dy * TURN_PER_PIXEL));
}

/** Selects the points in the box, or the point that was clicked. */
function endDrag(drag: Drag, event: PointerEvents, view: PointedView): void {
  const [x, y] = positionOf(event);
  const { drawn, screen } = view;
  const row = (point: number) => table.peek()!.row[point]!;
  if (drag.kind === 'box' && drag.moved && screen.current && drawn) {
    const inside = pointsIn(screen.current, [drag.x, drag.y, x, y]).map((i) => row(pointIndex(drawn, i)));
    focusRow.value = null;
    pickedRows.value = boxTool.value && event.shiftKey ? [...pickedRows.peek(), ...inside] : inside;
    return;
  }
  if (drag.moved || event.button !== 0) return;
  const point = pointUnder(view, x, y);
  focusRow.value = point === null ? null : row(point);
  if (point === null) pickedRows.value = [];
}

function pointUnder({ drawn, rank, tiled, screen }: PointedView, x: number, y: number): number | null {
  if (!screen.current || !drawn || screen.current.x.length !== rank.length) return null;
  const found = pointAt(screen.current, rank, x, y, tiled ? REACH_PX * 1.5 : REACH_PX);
  return found === null ? null : pointIndex(drawn, found);
}
