/** The painter of the points: WebGL where there is a graphics card, else a plain canvas. */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { canvasPainter } from '../points/canvas_points.ts';
import type { PointPainter } from '../points/point_scene.ts';
import { webglPainter } from '../points/webgl_points.ts';

/**
 * Args:
 *   canvas: must be a new element whenever `onCanvas` changes, because a canvas keeps its kind of context.
 *   plain: whether the plain canvas is requested.
 * Returns: the painter, null until the first layout; and whether it paints without WebGL.
 */
export function usePointPainter(
  canvas: RefObject<HTMLCanvasElement | null>,
  plain: boolean,
): { painter: { current: PointPainter | null }; withoutWebgl: boolean } {
  const painter = useRef<PointPainter | null>(null);
  const fallback = useSignal(plain);
  const withoutWebgl = fallback.value;
  useLayoutEffect(() => {
    const element = canvas.current!;
    const lost = (event: Event) => {
      event.preventDefault();
      fallback.value = true;
    };
    const created = withoutWebgl ? canvasPainter(element) : webglPainter(element);
    if (!created) {
      fallback.value = true;
      return;
    }
    painter.current = created;
    element.addEventListener('webglcontextlost', lost);
    return () => {
      element.removeEventListener('webglcontextlost', lost);
      created.dispose();
      painter.current = null;
    };
  }, [withoutWebgl, fallback, canvas]);
  return { painter, withoutWebgl };
}
