/** window.__board.graph: what the Graph page shows, for browser tests and benchmarks. */
import { expose, recorded } from '../../testing/test_hook.ts';
import { FrameTimes } from '../canvas/frame_times.ts';
import type { Stage } from '../canvas/stage.ts';
import { verticesOf } from '../model/view_state.ts';
import { AUXILIARY, GROUP, SERIES } from '../scene/scene.ts';
import { colourMode, graphName } from '../session/address.ts';
import type { Session } from '../session/session.ts';

const KINDS = ['op', 'const', 'group', 'open', 'series'];

/** Set by build.mjs; without it esbuild drops the body of exposeGraph. */
declare const TEST_HOOKS: boolean;

/** Exposes a graph. Returns: a function that removes it. */
export function exposeGraph(session: Session, stage: Stage, isAddressed: () => boolean): () => void {
  if (TEST_HOOKS) {
    const times = new FrameTimes();
    stage.times = times;
    expose('graph', () => describe(session, stage, times));
    expose('graphIsAddressed', isAddressed);
    expose('graphTimes', () => ({
      visible: session.scene.peek()?.scene.item.length ?? 0,
      moving: session.layout.busy.peek() || stage.moving,
      pictures: times.pictures,
      scenes: times.scenes,
      shownAt: times.shownAt,
      layoutMs: recorded<{ milliseconds: number }>('layout').milliseconds ?? 0,
    }));
  }
  return () => {
    expose('graph', () => null);
    expose('graphIsAddressed', () => null);
    expose('graphTimes', () => null);
  };
}

function describe(session: Session, stage: Stage, times: FrameTimes) {
  const indexed = session.scene.peek();
  const bounds = stage.canvas.getBoundingClientRect();
  const s = indexed?.scene;
  const { x, y, k } = stage.camera;
  const most = Math.min(s?.item.length ?? 0, 5000);
  const items = Array.from({ length: most }, (_, i) => {
    const item = s!.item[i]!;
    const r = indexed!.rect(i);
    const style = stage.content.paint.style(item);
    return {
      id: item,
      name: session.nameOfItem(item),
      label: session.label(item),
      kind: KINDS[s!.kind[i]!],
      parent: s!.parent[i],
      area: s!.flags[i]! & AUXILIARY ? 'auxiliary' : 'main',
      rect: [bounds.x + (r.x - x) * k, bounds.y + (r.y - y) * k, r.w * k, r.h * k],
      box: [r.x, r.y, r.w, r.h],
      fill: style.fill,
      notch: style.notch,
      members:
        s!.kind[i] === SERIES
          ? verticesOf(session.model, indexed!.pulled, item).length
          : s!.kind[i]! >= GROUP
            ? session.model.size[item]
            : 0,
      lit: stage.emphasis.lit ? stage.emphasis.lit[i] === 1 : true,
    };
  });
  return {
    graph: session.entry.title,
    key: session.entry.key,
    chosen: graphName.peek(),
    ready: indexed !== null && !session.layout.busy.peek() && times.firstDrawMs > 0,
    busy: session.layout.busy.peek(),
    visible: s?.item.length ?? 0,
    edges: s?.from.length ?? 0,
    items,
    selected: session.selected.peek(),
    camera: { ...stage.camera },
    moving: stage.moving,
    colour: colourMode.peek(),
    frameTimes: [...times.intervals],
    firstDrawMs: times.firstDrawMs,
    bright: stage.emphasis.bright?.size ?? 0,
  };
}
