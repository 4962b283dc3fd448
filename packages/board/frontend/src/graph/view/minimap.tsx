/** The minimap: the whole graph, with a frame around the visible part that can be dragged. */
import { useEffect, useRef } from 'preact/hooks';
import { inks, paintTheme } from '../canvas/canvas_theme.ts';
import type { Stage } from '../canvas/stage.ts';
import { OPENED } from '../scene/scene.ts';
import { colourMode } from '../session/address.ts';
import type { Session } from '../session/session.ts';

const WIDTH = 168;
const HEIGHT = 120;

export interface MinimapHandle {
  follow(): void;
}

export function Minimap({
  session,
  stage,
  handle,
}: {
  session: Session;
  stage: { current: Stage | null };
  handle: { current: MinimapHandle | null };
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<HTMLCanvasElement | null>(null);
  const place = useRef({ k: 1, x: 0, y: 0 });
  const scene = session.scene.value;
  const theme = paintTheme.value;
  const mode = colourMode.value;
  const cost = session.costs.shown.value;
  const diff = session.comparison.shown.value;
  useEffect(() => {
    const element = canvas.current;
    const shown = stage.current;
    if (!element || !scene || !shown) return;
    const { paint } = shown.content;
    const ratio = shown.ratio;
    element.width = WIDTH * ratio;
    element.height = HEIGHT * ratio;
    const s = scene.scene;
    const k = Math.min((WIDTH - 12) / Math.max(1, s.width), (HEIGHT - 12) / Math.max(1, s.height));
    place.current = { k, x: (WIDTH - s.width * k) / 2, y: (HEIGHT - s.height * k) / 2 };
    const off = document.createElement('canvas');
    off.width = element.width;
    off.height = element.height;
    const c = off.getContext('2d')!;
    const { x, y } = place.current;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (let i = 0; i < s.item.length; i++) {
      const w = s.box[4 * i + 2]! * k;
      const h = s.box[4 * i + 3]! * k;
      if (w < 0.7 && h < 0.7) continue;
      const item = s.item[i]!;
      const opened = s.kind[i] === OPENED;
      const style = paint.style(item);
      c.fillStyle = opened ? paint.openFill(item, s.depth[i]!) : h < 3 ? style.border : style.fill;
      c.fillRect(x + s.box[4 * i]! * k, y + s.box[4 * i + 1]! * k, w, Math.max(0.8, h));
      if (h >= 3) {
        c.strokeStyle = style.border;
        c.lineWidth = 0.5;
        c.strokeRect(x + s.box[4 * i]! * k, y + s.box[4 * i + 1]! * k, w, h);
      }
    }
    picture.current = off;
    handle.current?.follow();
  }, [scene, theme, mode, cost, diff, session, stage, handle]);
  useEffect(() => {
    handle.current = {
      follow() {
        const element = canvas.current;
        const shown = stage.current;
        const off = picture.current;
        if (!element || !shown || !off) return;
        const c = element.getContext('2d')!;
        const { k, x, y } = place.current;
        const { camera, width, height, ratio } = shown;
        c.setTransform(1, 0, 0, 1, 0, 0);
        c.clearRect(0, 0, element.width, element.height);
        c.drawImage(off, 0, 0);
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        const left = Math.max(1, x + camera.x * k);
        const top = Math.max(1, y + camera.y * k);
        const right = Math.min(WIDTH - 1, x + (camera.x + width / camera.k) * k);
        const bottom = Math.min(HEIGHT - 1, y + (camera.y + height / camera.k) * k);
        c.strokeStyle = inks().accent;
        c.lineWidth = 1.5;
        c.strokeRect(left, top, Math.max(3, right - left), Math.max(3, bottom - top));
      },
    };
    return () => {
      handle.current = null;
    };
  }, [handle, stage]);
  const go = (event: PointerEvent) => {
    const shown = stage.current;
    if (!shown || event.buttons === 0) return;
    const { k, x, y } = place.current;
    const { camera, width, height } = shown;
    shown.jump({
      x: (event.offsetX - x) / k - width / camera.k / 2,
      y: (event.offsetY - y) / k - height / camera.k / 2,
      k: camera.k,
    });
  };
  return (
    <canvas
      ref={canvas}
      class="g-minimap"
      role="img"
      aria-label="Map of the whole graph; drag to move the view"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={go}
    />
  );
}
