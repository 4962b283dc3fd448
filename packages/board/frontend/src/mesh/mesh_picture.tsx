/** The picture of a mesh, which pointer, wheel and keys turn, move and zoom. */
import type { RefObject, TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { axesOf, type Camera, matrixOf, panned, turned, zoomed, zoomedAt } from '../scene/orbit_camera.ts';
import { record, recorded, useExposed } from '../testing/test_hook.ts';
import { meshPainter, painterChanges } from './mesh_painter.ts';
import { type MeshScene, modeOf } from './mesh_scene.ts';
import { cameraOf, meshMode, setCamera } from './mesh_view.ts';

const TURN_PER_PIXEL = 0.01;
const KEY_PAN_PX = 20;
const KEY_TURN = 0.1;
const KEY_ZOOM = 1.2;
const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

interface MeshPictureProps {
  id: string;
  /** The camera until the reader moves it. */
  first: Camera;
  scene: MeshScene | null;
  step: number | null;
  label: string;
  width: number;
  height: number;
}

export function MeshPicture({ id, first, scene, step, label, width, height }: MeshPictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; y: number; pans: boolean } | null>(null);
  const camera = cameraOf(id) ?? first;
  void painterChanges.value;
  const mode = scene ? modeOf(meshMode.value, scene.geometry) : 'surface';

  useLayoutEffect(() => {
    const element = canvas.current!;
    const frame = requestAnimationFrame(() => {
      const ratio = devicePixelRatio || 1;
      const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
      element.width = w;
      element.height = h;
      element.style.height = `${height}px`;
      const on = element.getContext('2d');
      if (!on || !scene || w < 1 || h < 1) return;
      const painter = meshPainter();
      painter.draw(on, scene, mode, matrixOf(camera, w, h, false), axesOf(camera), w, h, ratio);
      record(`mesh ${id}`, () => ({
        id,
        step,
        mode,
        painter: painter.kind,
        vertices: scene.positions.length / 3,
        faces: scene.geometry.faces.length / 3,
        camera,
      }));
    });
    return () => cancelAnimationFrame(frame);
  });
  useExposed('meshes', id, () => recorded(`mesh ${id}`));
  useWheelZoom(canvas, id, first);

  const press = (event: TargetedPointerEvent<HTMLCanvasElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    event.currentTarget.focus();
    const pans = event.button !== 0 || event.shiftKey || event.altKey;
    drag.current = { x: event.clientX, y: event.clientY, pans };
  };
  const move = (event: TargetedPointerEvent<HTMLCanvasElement>) => {
    const held = drag.current;
    if (!held) return;
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    held.x = event.clientX;
    held.y = event.clientY;
    const next = held.pans
      ? panned(camera, dx, dy, width, height)
      : turned(camera, -dx * TURN_PER_PIXEL, dy * TURN_PER_PIXEL);
    setCamera(id, next);
  };
  const release = () => {
    drag.current = null;
  };
  const key = (event: TargetedKeyboardEvent<HTMLCanvasElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = cameraAfterKey(event, camera, width, height);
    if (next === undefined) return;
    setCamera(id, next);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the canvas handles keys
    <canvas
      ref={canvas}
      class="mesh-canvas"
      tabIndex={0}
      role="application"
      aria-roledescription="mesh"
      aria-label={`${label}. Arrow keys turn, plus and minus zoom.`}
      onPointerDown={press}
      onPointerMove={move}
      onPointerUp={release}
      onPointerCancel={release}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={key}
    />
  );
}

/** Returns: the camera after a key; null shows all; undefined if the key has no meaning here. */
function cameraAfterKey(
  event: KeyboardEvent,
  camera: Camera,
  width: number,
  height: number,
): Camera | null | undefined {
  const arrow = ARROWS[event.key];
  if (arrow) {
    const [x, y] = arrow;
    return event.shiftKey
      ? panned(camera, -x * KEY_PAN_PX, -y * KEY_PAN_PX, width, height)
      : turned(camera, x * KEY_TURN, -y * KEY_TURN);
  }
  if (event.key === '+' || event.key === '=') return zoomed(camera, KEY_ZOOM);
  if (event.key === '-') return zoomed(camera, 1 / KEY_ZOOM);
  return event.key === '0' ? null : undefined;
}

/** Zooms by the wheel once the mesh was clicked, or with Ctrl; otherwise the wheel scrolls the page. */
function useWheelZoom(canvas: RefObject<HTMLCanvasElement | null>, id: string, first: Camera): void {
  useEffect(() => {
    const element = canvas.current!;
    const wheel = (event: WheelEvent) => {
      if (document.activeElement !== element && !event.ctrlKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const factor = Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) * 0.0035);
      const [x, y] = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
      setCamera(id, zoomedAt(cameraOf(id) ?? first, factor, x, y, box.width, box.height));
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  }, [id, first]);
}
