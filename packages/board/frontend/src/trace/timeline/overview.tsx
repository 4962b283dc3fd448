/** The overview of the whole step: the reader drags its window, an end of it, or a new window. */
import { useRef } from 'preact/hooks';
import { windowOfTime } from '../address/address_fields.ts';
import { fitAll, panBy, spanOf, timeAt } from '../layout/time_view.ts';
import { duration, timelineWidth, timeView } from '../state/trace_state.ts';

/** The overview: drag its window, drag its ends, or drag a new one. */
export function Overview({ canvas }: { canvas: { current: HTMLCanvasElement | null } }) {
  const drag = useRef<{
    kind: 'move' | 'left' | 'right' | 'new';
    at: number;
    view: { t0: number; t1: number };
  } | null>(null);
  const timeOf = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    return timeAt(fitAll(duration.peek()), timelineWidth.peek(), event.clientX - box.left);
  };
  return (
    <canvas
      ref={canvas}
      class="trace-overview"
      role="img"
      aria-label="The whole step, and the time window that the timeline shows"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const at = timeOf(event);
        const view = timeView.peek();
        const near = (6 * spanOf(fitAll(duration.peek()))) / timelineWidth.peek();
        const whole = spanOf(view) > duration.peek() * 0.98;
        const kind =
          Math.abs(at - view.t0) < near
            ? 'left'
            : Math.abs(at - view.t1) < near
              ? 'right'
              : at > view.t0 && at < view.t1 && !whole
                ? 'move'
                : 'new';
        drag.current = { kind, at, view };
      }}
      onPointerMove={(event) => {
        const now = drag.current;
        if (!now) return;
        const at = timeOf(event);
        const least = 10;
        if (now.kind === 'move') {
          windowOfTime.value = panBy(now.view, at - now.at, duration.peek());
        } else if (now.kind === 'left') {
          windowOfTime.value = { t0: Math.min(at, now.view.t1 - least), t1: now.view.t1 };
        } else if (now.kind === 'right') {
          windowOfTime.value = { t0: now.view.t0, t1: Math.max(at, now.view.t0 + least) };
        } else if (Math.abs(at - now.at) > least) {
          windowOfTime.value = { t0: Math.min(at, now.at), t1: Math.max(at, now.at) };
        }
      }}
      onPointerUp={(event) => {
        const now = drag.current;
        drag.current = null;
        if (now?.kind !== 'new') return;
        const at = timeOf(event);
        const moved = (Math.abs(at - now.at) / spanOf(fitAll(duration.peek()))) * timelineWidth.peek();
        if (moved < 3 && spanOf(now.view) < duration.peek()) {
          windowOfTime.value = panBy(now.view, at - (now.view.t0 + now.view.t1) / 2, duration.peek());
        }
      }}
      onPointerCancel={() => {
        drag.current = null;
      }}
      onDblClick={() => {
        windowOfTime.value = null;
      }}
    />
  );
}
