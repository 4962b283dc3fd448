/** The points: three canvases upon each other (axes, points, names), and what pointer and keys do. */
import { useSignal } from '@preact/signals';
import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { rgbOf } from '../../picture/label_colours.ts';
import {
  type Camera,
  matrixOf,
  panned,
  projectAll,
  type Screen,
  slantCamera,
  turned,
  zoomed,
  zoomedAt,
} from '../../scene/orbit_camera.ts';
import { safeText } from '../../strings/safe_text.ts';
import { colour, themeVersion } from '../../style/theme.ts';
import {
  boxTool,
  camera,
  components,
  customWords,
  focusRow,
  hoveredPoint,
  method,
  pickedRows,
  plainCanvas,
  showLabels,
} from '../address/address_fields.ts';
import { labelOf, table } from '../data/projector_data.ts';
import { canvasPainter } from '../points/canvas_points.ts';
import { focus, neighbours, painted, raised } from '../points/emphasis.ts';
import type { PointPainter } from '../points/point_scene.ts';
import { webglPainter } from '../points/webgl_points.ts';
import { type Drawn, drawn, pca } from '../projection/projection.ts';
import {
  type Box,
  drawAxes,
  drawBox,
  drawLabels,
  drawRing,
  type Label,
  type OverlayColours,
  pointAt,
  pointsIn,
} from './scatter_overlay.ts';

const MOST_LABELS = 220;
const REACH = 12;
const TURN_PER_PIXEL = 0.008;
const MOVING_MS = 160;

/** What tests ask for: how the points were painted, and where they are. */
interface LastPicture {
  painter: string;
  screen: Screen | null;
  drawn: Drawn | null;
  labels: number;
  /** All layers as one canvas; null: nothing is shown. */
  copy: (() => HTMLCanvasElement) | null;
}

export const lastPicture: LastPicture = {
  painter: '',
  screen: null,
  drawn: null,
  labels: 0,
  copy: null,
};

const pointIndex = (shown: Drawn, at: number): number => (shown.index ? shown.index[at]! : at);

/** The camera that is looked through: flat pictures are seen from the front. */
const eye = (flat: boolean): Camera => (flat ? { ...camera.value, yaw: 0, pitch: 0 } : camera.value);

function pointSize(n: number, zoom: number, tiled: boolean, side: number): number {
  const crowd = Math.sqrt((side * side) / Math.max(40, n));
  const plain = Math.max(2.8, Math.min(7.5, crowd * 0.26)) * zoom ** 0.3;
  return tiled ? Math.max(12, Math.min(40, crowd * 0.6)) * zoom ** 0.5 : plain;
}

export function Scatter() {
  const host = useRef<HTMLDivElement>(null);
  const size = useSignal<[number, number]>([0, 0]);
  useLayoutEffect(() => {
    const element = host.current!;
    const observer = new ResizeObserver(() => {
      size.value = [element.clientWidth, element.clientHeight];
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [size]);
  const [width, height] = size.value;
  return (
    <div class="pj-scatter" ref={host}>
      {width > 0 && height > 0 && (
        <Picture key={String(plainCanvas.value)} width={width} height={height} plain={plainCanvas.value} />
      )}
    </div>
  );
}

interface PictureProps {
  width: number;
  height: number;
  plain: boolean;
}

function Picture({ width, height, plain }: PictureProps) {
  const below = useRef<HTMLCanvasElement>(null);
  const middle = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const painter = useRef<PointPainter | null>(null);
  const movedAt = useRef(0);
  const screen = useRef<Screen | undefined>(undefined);
  const drag = useRef<{ x: number; y: number; how: 'turn' | 'pan' | 'box'; far: boolean } | null>(null);
  const box = useSignal<Box | null>(null);
  // Read here, so that the picture is drawn again when one of them changes.
  const shown = drawn.value;
  const { colours, rank, tiles } = painted.value;
  const cameraNow = eye(shown?.flat ?? false);
  const hovered = hoveredPoint.value;
  const focused = focus.value;
  const named = raised.value;
  const allNames = showLabels.value;
  const boxNow = box.value;
  const axisNames = method.value === 'pca' && pca.value ? components.value.map((c) => `PC ${c + 1}`) : [];
  if (method.value === 'custom') axisNames.push(...customNames());
  void themeVersion.value;

  // A canvas that had a context of one kind takes no other: the way back is a fresh one.
  const withoutCard = useSignal(plain);
  const noCard = withoutCard.value;
  useLayoutEffect(() => {
    const canvas = middle.current!;
    const lost = (event: Event) => {
      event.preventDefault();
      withoutCard.value = true;
    };
    const made = noCard ? canvasPainter(canvas) : webglPainter(canvas);
    if (!made) {
      withoutCard.value = true;
      return;
    }
    painter.current = made;
    lastPicture.painter = made.kind;
    canvas.addEventListener('webglcontextlost', lost);
    return () => {
      canvas.removeEventListener('webglcontextlost', lost);
      made.dispose();
      painter.current = null;
    };
  }, [noCard, withoutCard]);

  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = () => {
      const ratio = devicePixelRatio || 1;
      const moving = performance.now() - movedAt.current < MOVING_MS;
      const canvases = [below.current!, middle.current!, above.current!];
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      for (const canvas of canvases) {
        if (canvas.width === w && canvas.height === h) continue;
        canvas.width = w;
        canvas.height = h;
      }
      const inks = overlayColours();
      const under = below.current!.getContext('2d')!;
      under.setTransform(ratio, 0, 0, ratio, 0, 0);
      under.clearRect(0, 0, width, height);
      const over = above.current!.getContext('2d')!;
      over.setTransform(ratio, 0, 0, ratio, 0, 0);
      over.clearRect(0, 0, width, height);
      lastPicture.drawn = shown;
      const n = shown ? shown.positions.length / 3 : 0;
      if (!shown || n * 4 !== colours.length) {
        middle.current!.width = w;
        return;
      }
      const flat = shown.flat;
      // The axes of a flat layout mean nothing; in space they tell which way one looks.
      if (!flat || axisNames.length > 0) drawAxes(under, cameraNow, width, height, flat, axisNames, inks);
      const diameter = pointSize(n, cameraNow.zoom, tiles !== null, Math.min(width, height));
      const matrix = matrixOf(cameraNow, width, height, flat);
      const scene = {
        positions: shown.positions,
        colours,
        rank,
        flat,
        size: diameter,
        tiles,
        ground: rgbOf(inks.ground),
      };
      painter.current?.draw(scene, matrix, w, h, ratio, moving);
      screen.current = projectAll(shown.positions, matrix, width, height, screen.current);
      lastPicture.screen = screen.current;
      const places = new Map<number, number>();
      for (const [at, point] of shown.index?.entries() ?? []) places.set(point, at);
      const placeOf = (point: number) => (shown.index ? places.get(point) : point);
      const labels: Label[] = [];
      for (const [i, point] of [hovered, focused, ...named].entries()) {
        const at = point === null ? undefined : placeOf(point);
        if (at !== undefined) labels.push({ at, text: safeText(labelOf(point!), 60), strong: i < 2 });
      }
      if (allNames && named.length === 0) {
        for (let at = 0; at < n; at++) {
          labels.push({ at, text: safeText(labelOf(pointIndex(shown, at)), 40), strong: false });
        }
      }
      for (const [point, ink] of [
        [hovered, inks.soft],
        [focused, inks.text],
      ] as const) {
        const at = point === null ? undefined : placeOf(point);
        if (at === undefined) continue;
        const scale = screen.current.scale[at]! * (rank[at] === 2 ? 1.5 : rank[at] === 0 ? 0.75 : 1);
        drawRing(over, screen.current, at, (diameter * scale) / 2 + 3, ink, inks.ground, tiles !== null);
      }
      const seen = new Set<number>();
      const once = labels.filter(({ at }) => !seen.has(at) && seen.add(at));
      lastPicture.labels = drawLabels(
        over,
        once,
        screen.current,
        width,
        height,
        MOST_LABELS,
        diameter * 0.8 + 5,
        inks,
      );
      if (boxNow) drawBox(over, boxNow, inks.accent);
      // A quick picture is followed by a whole one.
      if (moving) timer = setTimeout(() => requestAnimationFrame(paint), MOVING_MS + 20);
    };
    lastPicture.copy = () => {
      movedAt.current = 0;
      paint(); // what a graphics card painted is gone after the frame
      const layers = [below.current!, middle.current!, above.current!];
      const whole = document.createElement('canvas');
      whole.width = layers[0]!.width;
      whole.height = layers[0]!.height;
      const on = whole.getContext('2d')!;
      on.fillStyle = colour('surface');
      on.fillRect(0, 0, whole.width, whole.height);
      for (const layer of layers) on.drawImage(layer, 0, 0);
      return whole;
    };
    const frame = requestAnimationFrame(paint);
    return () => {
      lastPicture.copy = null;
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  });

  const look = (next: Camera) => {
    movedAt.current = performance.now();
    camera.value = shown?.flat ? { ...next, yaw: camera.peek().yaw, pitch: camera.peek().pitch } : next;
  };
  const lookRef = useRef(look);
  lookRef.current = look;
  const flatNow = shown?.flat ?? false;

  useEffect(() => {
    const canvas = above.current!;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const bounds = canvas.getBoundingClientRect();
      const x = event.clientX - bounds.left - bounds.width / 2;
      const y = event.clientY - bounds.top - bounds.height / 2;
      const factor = Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.0035);
      lookRef.current(zoomedAt(eye(flatNow), factor, x, y, bounds.width, bounds.height));
    };
    canvas.addEventListener('wheel', wheel, { passive: false });
    return () => canvas.removeEventListener('wheel', wheel);
  }, [flatNow]);

  const at = (event: TargetedPointerEvent<HTMLCanvasElement>): [number, number] => {
    const bounds = event.currentTarget.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  };
  const under = (x: number, y: number): number | null => {
    if (!screen.current || !shown || screen.current.x.length !== rank.length) return null;
    const found = pointAt(screen.current, rank, x, y, tiles ? REACH * 1.5 : REACH);
    return found === null ? null : pointIndex(shown, found);
  };

  function press(event: TargetedPointerEvent<HTMLCanvasElement>): void {
    event.currentTarget.setPointerCapture(event.pointerId);
    const [x, y] = at(event);
    const boxes = event.button === 0 && (event.shiftKey || boxTool.value);
    const pans = event.button !== 0 || event.altKey || event.ctrlKey || flatNow;
    drag.current = { x, y, how: boxes ? 'box' : pans ? 'pan' : 'turn', far: false };
    hoveredPoint.value = null;
  }

  function move(event: TargetedPointerEvent<HTMLCanvasElement>): void {
    const [x, y] = at(event);
    const held = drag.current;
    if (!held) {
      hoveredPoint.value = under(x, y);
      return;
    }
    const [dx, dy] = [x - held.x, y - held.y];
    if (!held.far && Math.hypot(dx, dy) < 4) return;
    held.far = true;
    if (held.how === 'box') {
      box.value = [held.x, held.y, x, y];
      return;
    }
    held.x = x;
    held.y = y;
    if (held.how === 'pan') look(panned(cameraNow, dx, dy, width, height));
    else look(turned(cameraNow, -dx * TURN_PER_PIXEL, dy * TURN_PER_PIXEL));
  }

  function release(event: TargetedPointerEvent<HTMLCanvasElement>): void {
    const held = drag.current;
    drag.current = null;
    if (!held) return;
    const [x, y] = at(event);
    const row = (point: number) => table.peek()!.row[point]!;
    if (held.how === 'box' && held.far && screen.current && shown) {
      const inside = pointsIn(screen.current, [held.x, held.y, x, y]).map((i) => row(pointIndex(shown, i)));
      focusRow.value = null;
      pickedRows.value = boxTool.value && event.shiftKey ? [...pickedRows.peek(), ...inside] : inside;
      box.value = null;
      return;
    }
    box.value = null;
    if (held.far || event.button !== 0) return;
    const point = under(x, y);
    focusRow.value = point === null ? null : row(point);
    if (point === null) pickedRows.value = [];
  }

  function key(event: TargetedKeyboardEvent<HTMLCanvasElement>): void {
    const shift = event.shiftKey;
    const arrows: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const arrow = arrows[event.key];
    if (arrow) {
      if (shift || flatNow) look(panned(cameraNow, -arrow[0] * 40, -arrow[1] * 40, width, height));
      else look(turned(cameraNow, arrow[0] * 0.1, -arrow[1] * 0.1));
    } else if (event.key === '+' || event.key === '=') look(zoomed(cameraNow, 1.2));
    else if (event.key === '-') look(zoomed(cameraNow, 1 / 1.2));
    else if (event.key === '0' || event.key === 'Home') camera.value = slantCamera;
    else if (event.key === '[' || event.key === ']') step(event.key === ']' ? 1 : -1);
    else if (event.key === 'b') boxTool.value = !boxTool.value;
    else if (event.key === 'Escape') {
      if (focusRow.value !== null) focusRow.value = null;
      else pickedRows.value = [];
    } else return;
    event.preventDefault();
  }

  function step(by: number): void {
    const rows = table.peek()?.row;
    if (!rows?.length) return;
    const next =
      focused === null ? (by > 0 ? 0 : rows.length - 1) : (focused + by + rows.length) % rows.length;
    focusRow.value = rows[next]!;
  }

  return (
    <>
      <canvas ref={below} class="pj-layer" />
      <canvas key={noCard ? 'plain' : 'card'} ref={middle} class="pj-layer pj-points" />
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: keys reach the canvas, which turns */}
      <canvas
        ref={above}
        class={`pj-layer pj-top ${boxTool.value ? 'pj-box' : ''} ${hovered !== null ? 'pj-over' : ''}`}
        tabIndex={0}
        role="application"
        aria-roledescription="scatter plot"
        aria-label={describe(shown)}
        aria-describedby="pj-keys"
        onPointerDown={press}
        onPointerMove={move}
        onPointerUp={release}
        onPointerCancel={() => {
          drag.current = null;
          box.value = null;
        }}
        onPointerLeave={() => {
          if (!drag.current) hoveredPoint.value = null;
        }}
        onContextMenu={(event) => event.preventDefault()}
        onKeyDown={key}
      />
      <p id="pj-keys" class="hidden-for-the-eye">
        Arrow keys turn, with Shift they move; plus and minus zoom; 0 shows all; brackets go from point to
        point; B draws boxes that select; Escape ends the selection.
      </p>
    </>
  );
}

function describe(shown: Drawn | null): string {
  if (!shown) return 'No points';
  const n = (shown.positions.length / 3).toLocaleString('en');
  const near =
    focus.value === null ? '' : `; ${labelOf(focus.value)} and ${neighbours.value.length} neighbours`;
  return safeText(`${n} points in ${shown.flat ? 'two' : 'three'} dimensions${near}`);
}

/** The words at the ends of the axes that there are; one alone lies across, with a component upwards. */
function customNames(): string[] {
  const [left = '', right = '', bottom = '', top = ''] = customWords.value;
  const named = [left && right, bottom && top].filter(Boolean).map((word) => safeText(word, 30));
  return named.length === 1 ? [...named, 'PC 1'] : named;
}

function overlayColours(): OverlayColours {
  return {
    ground: colour('surface'),
    line: colour('line'),
    text: colour('text'),
    soft: colour('text-soft'),
    accent: colour('accent'),
    font: 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
  };
}
