/** The scatter plot: three canvases (axes, points, labels) that pointer and keys act on. */

import { useSignal } from '@preact/signals';
import type { TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Camera, Screen } from '../../scene/orbit_camera.ts';
import { safeText } from '../../strings/safe_text.ts';
import { themeVersion } from '../../style/theme.ts';
import { record } from '../../testing/test_hook.ts';
import { count } from '../../units/numbers.ts';
import {
  boxTool,
  camera,
  components,
  customWords,
  hoveredPoint,
  method,
  plainCanvas,
  showLabels,
} from '../address/address_fields.ts';
import { labelOf } from '../data/projector_data.ts';
import { focus, neighbours, painted, raised } from '../points/emphasis.ts';
import type { PointPainter } from '../points/point_scene.ts';
import { type Drawn, drawn, pca } from '../projection/projection.ts';
import { flattened, type Layers, paintScatter, type ScatterPicture } from './paint_scatter.ts';
import type { Box } from './point_hit.ts';
import { onScatterKey } from './scatter_keys.ts';
import { usePointPainter } from './use_point_painter.ts';
import { useScatterPointer, useWheelZoom } from './use_scatter_pointer.ts';

/** After this long without a movement of the camera, all points are painted. */
const MOVING_MS = 160;

/** What tests read: how the points were painted, and where they are. */
export interface ScatterRecord {
  painter: string;
  screen: Screen;
  drawn: Drawn | null;
  labels: number;
}

let copyOfLayers: (() => HTMLCanvasElement) | null = null;

/** Returns: all layers in one canvas; null while nothing is shown. */
export const copyScatter = (): HTMLCanvasElement | null => copyOfLayers?.() ?? null;

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
        <ScatterLayers
          key={String(plainCanvas.value)}
          width={width}
          height={height}
          plain={plainCanvas.value}
        />
      )}
    </div>
  );
}

interface ScatterLayersProps {
  width: number;
  height: number;
  plain: boolean;
}

function ScatterLayers({ width, height, plain }: ScatterLayersProps) {
  const below = useRef<HTMLCanvasElement>(null);
  const points = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const { box, handlers } = useScatterPointer();
  const picture = currentPicture(box.value);
  const { painter, withoutWebgl } = usePointPainter(points, plain);
  const layers = () => ({ below: below.current!, points: points.current!, above: above.current! });
  const { screen, moved } = usePainting(layers, painter, picture, width, height);

  const flat = picture.drawn?.flat ?? false;
  const look = (next: Camera) => {
    moved();
    // A flat picture is seen from the front; the angles stay for the next one in three dimensions.
    camera.value = flat ? { ...next, yaw: camera.peek().yaw, pitch: camera.peek().pitch } : next;
  };
  useWheelZoom(above, () => cameraFor(flat), look);
  const now = picture.camera;
  const key = (event: TargetedKeyboardEvent<HTMLCanvasElement>) => {
    if (onScatterKey(event, { now, flat, width, height, look })) event.preventDefault();
  };
  const { drawn: shown, rank, tiles, hovered } = picture;
  return (
    <>
      <canvas ref={below} class="pj-layer" />
      {/* A canvas keeps its kind of context, so the fallback needs a new element. */}
      <canvas key={withoutWebgl ? 'plain' : 'card'} ref={points} class="pj-layer pj-points" />
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the canvas handles keys */}
      <canvas
        ref={above}
        class={`pj-layer pj-top ${boxTool.value ? 'pj-box' : ''} ${hovered !== null ? 'pj-over' : ''}`}
        tabIndex={0}
        role="application"
        aria-roledescription="scatter plot"
        aria-label={describe(shown)}
        aria-describedby="pj-keys"
        {...handlers({ drawn: shown, rank, tiled: tiles !== null, now, width, height, screen, look })}
        onContextMenu={(event) => event.preventDefault()}
        onKeyDown={key}
      />
      <p id="pj-keys" class="hidden-for-the-eye">
        Arrow keys turn the view; with Shift they move it. Plus and minus zoom; 0 shows all points. Brackets
        go from point to point. B selects by drawing boxes; Escape clears the selection.
      </p>
    </>
  );
}

/** Reads all that the picture depends on, so that a change of any of it paints anew. */
function currentPicture(box: Box | null): ScatterPicture {
  const shown = drawn.value;
  const { colours, rank, tiles } = painted.value;
  const axisNames = method.value === 'pca' && pca.value ? components.value.map((c) => `PC ${c + 1}`) : [];
  if (method.value === 'custom') axisNames.push(...customNames());
  void themeVersion.value;
  return {
    drawn: shown,
    colours,
    rank,
    tiles,
    camera: cameraFor(shown?.flat ?? false),
    hovered: hoveredPoint.value,
    focused: focus.value,
    raised: raised.value,
    allLabels: showLabels.value,
    axisNames,
    box,
  };
}

/** The camera of a picture: flat ones are seen from the front. */
function cameraFor(flat: boolean): Camera {
  return flat ? { ...camera.value, yaw: 0, pitch: 0 } : camera.value;
}

/** Paints after each render, once a frame. Returns: where the points are, and a call for a moving camera. */
function usePainting(
  layers: () => Layers,
  painter: { current: PointPainter | null },
  picture: ScatterPicture,
  width: number,
  height: number,
) {
  const screen = useRef<Screen | null>(null);
  const movedAt = useRef(0);
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const paint = () => {
      const moving = performance.now() - movedAt.current < MOVING_MS;
      const reuse = screen.current ?? undefined;
      const done = paintScatter(layers(), painter.current, picture, width, height, moving, reuse);
      record('scatter', () => ({ drawn: picture.drawn, painter: painter.current?.kind ?? '', ...done }));
      if (!done) return;
      screen.current = done.screen;
      // While the camera moves, the painter may leave points out: they follow when it rests.
      if (moving) timer = setTimeout(() => requestAnimationFrame(paint), MOVING_MS + 20);
    };
    copyOfLayers = () => {
      movedAt.current = 0;
      paint(); // WebGL clears its canvas after each frame
      return flattened(layers());
    };
    const frame = requestAnimationFrame(paint);
    return () => {
      copyOfLayers = null;
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  });
  const moved = () => {
    movedAt.current = performance.now();
  };
  return { screen, moved };
}

function describe(shown: Drawn | null): string {
  if (!shown) return 'No points';
  const n = count(shown.positions.length / 3);
  const near =
    focus.value === null ? '' : `; ${labelOf(focus.value)} and ${neighbours.value.length} neighbours`;
  return safeText(`${n} points in ${shown.flat ? 'two' : 'three'} dimensions${near}`);
}

/** The words at the ends of the custom axes. A single axis lies across, with a principal component upwards. */
function customNames(): string[] {
  const [left = '', right = '', bottom = '', top = ''] = customWords.value;
  const named = [left && right, bottom && top].filter(Boolean).map((word) => safeText(word, 30));
  return named.length === 1 ? [...named, 'PC 1'] : named;
}
