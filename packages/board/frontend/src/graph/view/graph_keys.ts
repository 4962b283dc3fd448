/** The keys of the Graph page: move between items, open, close, zoom. */
import type { Stage } from '../canvas/stage.ts';
import { isOpen } from '../model/view_state.ts';
import { OPENED } from '../scene/scene.ts';
import type { Session } from '../session/session.ts';
import { fitAll } from './fit_clear.ts';

const STEPS: Record<string, [number, number]> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

/** Returns: whether the key was one of these. */
export function onKey(
  event: KeyboardEvent,
  session: Session,
  stage: Stage,
  focusSearch: () => void,
): boolean {
  const scene = session.scene.peek();
  if (!scene) return false;
  const selected = session.selected.peek();
  const step = STEPS[event.key];
  if (step) {
    if (event.shiftKey) {
      const { x, y, k } = stage.camera;
      stage.jump({ x: x + (step[0] * 80) / k, y: y + (step[1] * 80) / k, k });
      return true;
    }
    const next = neighbourInDirection(session, stage, step);
    if (next >= 0) {
      session.select(scene.scene.item[next]!);
      stage.look(scene.rect(next), false);
    }
    return true;
  }
  switch (event.key) {
    case 'Enter':
    case ' ':
      if (selected !== null) session.toggle(selected, event.shiftKey);
      return selected !== null;
    case 'Escape': {
      if (selected === null) return false;
      const { model } = session;
      if (selected < model.total && isOpen(model, session.view.peek(), selected)) session.toggle(selected);
      else {
        const parent =
          selected < model.total
            ? model.parent[selected]!
            : model.header.series[selected - model.total]!.parent;
        session.select(parent === model.root ? null : parent);
      }
      return true;
    }
    case 'f':
    case 'F':
      fitAll(session, stage);
      return true;
    case '/':
      focusSearch();
      return true;
    case '+':
    case '=':
      stage.zoom(1.4);
      return true;
    case '-':
      stage.zoom(1 / 1.4);
      return true;
  }
  return false;
}

/** The item that an arrow key selects: along an edge in that direction, else the nearest there. */
function neighbourInDirection(session: Session, stage: Stage, [dx, dy]: [number, number]): number {
  const scene = session.scene.peek()!;
  const s = scene.scene;
  const selected = session.selected.peek();
  const at = selected === null ? undefined : scene.indexOf.get(selected);
  if (at === undefined) {
    // Without a selection, start with the item nearest to the centre of the view.
    const [cx, cy] = stage.toScene(stage.width / 2, stage.height / 2);
    return nearest(s.item.length, (i) => {
      if (s.kind[i] === OPENED) return Infinity;
      const r = scene.rect(i);
      return Math.hypot(r.x + r.w / 2 - cx, r.y + r.h / 2 - cy);
    });
  }
  const own = scene.rect(at);
  // An opened group is entered from above.
  if (s.kind[at] === OPENED && dy > 0) {
    const first = nearest(s.item.length, (i) =>
      s.parent[i] === at ? scene.rect(i).y * 10 + scene.rect(i).x : Infinity,
    );
    if (first >= 0) return first;
  }
  const linked = new Set<number>();
  if (dy !== 0) {
    for (let e = 0; e < s.from.length; e++) {
      if (s.edgeGroup[e] !== s.parent[at]) continue;
      const other =
        dy > 0 ? (s.from[e] === selected ? s.to[e]! : -1) : s.to[e] === selected ? s.from[e]! : -1;
      const i = other < 0 ? undefined : scene.indexOf.get(other);
      if (i !== undefined) linked.add(i);
    }
  }
  const cx = own.x + own.w / 2;
  const cy = own.y + own.h / 2;
  const cost = (i: number): number => {
    if (i === at || (s.parent[i] !== s.parent[at] && !linked.has(i))) return Infinity;
    const r = scene.rect(i);
    const ox = r.x + r.w / 2 - cx;
    const oy = r.y + r.h / 2 - cy;
    const along = ox * dx + oy * dy;
    if (along <= 0.5) return Infinity;
    return along + 2.5 * Math.abs(ox * dy + oy * dx) - (linked.has(i) ? 1e6 : 0);
  };
  const found = nearest(s.item.length, cost);
  if (found >= 0) return found;
  return dy < 0 && s.parent[at]! >= 0 ? s.parent[at]! : -1;
}

function nearest(n: number, cost: (i: number) => number): number {
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < n; i++) {
    const c = cost(i);
    if (c < least) {
      least = c;
      best = i;
    }
  }
  return best;
}
