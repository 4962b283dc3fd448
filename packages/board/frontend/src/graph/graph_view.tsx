/** The picture with its corners: breadcrumb, legend, minimap; and the keyboard. */
import { computed, effect, untracked } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { safeText } from '../shell/safe_text.ts';
import { expose } from '../shell/test_hook.ts';
import { themeVersion } from '../style/theme.ts';
import { cameraInUrl, colourMode, graphName, tracing } from './address.ts';
import { type Camera, fit } from './canvas/camera.ts';
import type { IndexedScene } from './canvas/indexed_scene.ts';
import { Paint } from './canvas/paint.ts';
import { Stage } from './canvas/stage.ts';
import { Legend } from './legend.tsx';
import { Minimap, type MinimapHandle } from './minimap.tsx';
import { itemId, Mirror } from './mirror.tsx';
import { LABEL_FONT_PX } from './model/box_sizes.ts';
import { GROUP, IN_SIDE, OPENED, STACK } from './model/scene.ts';
import { isOpen, verticesOf } from './model/view_state.ts';
import type { Session } from './session.ts';
import { inks, paintTheme } from './theme_of_paint.ts';

const NONE: ReadonlySet<number> = new Set();
const KINDS = ['op', 'const', 'group', 'open', 'stack'];

function textMeasure(font: string): (text: string) => number {
  const context = document.createElement('canvas').getContext('2d')!;
  context.font = `${LABEL_FONT_PX}px ${font}`;
  const widths = new Map<string, number>();
  return (text) => {
    let sum = 0;
    for (const c of text) {
      let width = widths.get(c);
      if (width === undefined) {
        width = context.measureText(c).width;
        widths.set(c, width);
      }
      sum += width;
    }
    return sum;
  };
}

export function GraphView({
  session,
  stage,
  focusSearch,
}: {
  session: Session;
  stage: { current: Stage | null };
  focusSearch: () => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const minimap = useRef<MinimapHandle | null>(null);
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    /** What this view wrote into the address last; anything else there came from outside. */
    let ownCamera = cameraInUrl.peek();
    const shown = new Stage(canvas.current!, {
      select: (item) => {
        session.select(item);
        box.current?.focus({ preventScroll: true });
      },
      toggle: (item, event) => {
        session.selected.value = item;
        session.toggle(item, event.shiftKey);
        box.current?.focus({ preventScroll: true });
      },
      hover: (index) => {
        const item = index < 0 ? undefined : session.scene.peek()?.scene.item[index];
        canvas.current!.title = item === undefined ? '' : safeText(session.nameOfItem(item));
      },
      menu: (item) => session.select(item),
      moved: () => {
        minimap.current?.follow();
        clearTimeout(timer);
        timer = setTimeout(() => {
          ownCamera = { ...shown.camera };
          cameraInUrl.value = ownCamera;
        }, 250);
      },
    });
    stage.current = shown;
    shown.model = session.model;
    shown.label = (item) => session.label(item);
    shown.inks = inks();
    shown.textWidth = textMeasure(shown.inks.font);
    shown.paint = new Paint(session.model, paintTheme.peek(), 'structure');
    let first = true;
    const pulled = computed(() => session.scene.value?.pulled ?? NONE);
    const stops = [
      effect(() => {
        void themeVersion.value;
        const mode = colourMode.value;
        const costs = session.costs.shown.value;
        shown.inks = inks();
        shown.paint = new Paint(
          session.model,
          paintTheme.value,
          mode,
          mode === 'time' ? (costs?.time ?? null) : mode === 'memory' ? (costs?.memory ?? null) : null,
          session.comparison.shown.value,
          pulled.value,
        );
        shown.invalidate();
      }),
      effect(() => {
        const scene = session.scene.value;
        if (!scene) return;
        untracked(() => {
          shown.emphasis = session.emphasis();
          const { anchor, lookAt } = session;
          session.anchor = null;
          session.lookAt = null;
          if (first) {
            shown.camera = cameraInUrl.peek() ?? fitClear(scene, shown);
            first = false;
            shown.show(scene, null);
            shown.touch();
            if (lookAt && !cameraInUrl.peek()) look(lookAt);
            return;
          }
          shown.show(scene, anchor);
          if (lookAt) look(lookAt);
        });
      }),
      effect(() => {
        const wanted = cameraInUrl.value;
        if (wanted === ownCamera) return;
        ownCamera = wanted;
        if (wanted) shown.jump(wanted);
      }),
      effect(() => {
        const selected = session.selected.value;
        void tracing.value;
        shown.selected = selected;
        shown.emphasis = untracked(() => session.emphasis());
        shown.invalidate();
      }),
    ];
    const look = ({ item, whole }: { item: number; whole: boolean }) => {
      const scene = session.scene.peek()!;
      if (item === session.model.root) {
        const all = { x: 0, y: 0, w: scene.scene.width, h: scene.scene.height };
        // After a group has closed: the whole again, where that is still readable.
        if (whole || fit(all, shown.width, shown.height).k > 0.6) {
          shown.move(fitClear(scene, shown), 220, shown.travelling);
        }
        return;
      }
      const i = scene.indexOf.get(item) ?? session.standsFor(item);
      if (i === undefined || i < 0) return;
      const rect = scene.rect(i);
      // What was sought comes to the middle, large enough to read.
      const opened = scene.scene.kind[i] === OPENED;
      const all = fitClear(scene, shown);
      // As long as the whole stays readable, the whole is shown.
      if (opened && !whole && all.k >= 0.75) shown.move(all, 220, shown.travelling);
      else if (opened || whole) shown.look(rect, whole);
      else {
        const k = Math.max(0.9, Math.min(1.4, shown.camera.k));
        shown.move(
          { x: rect.x + rect.w / 2 - shown.width / 2 / k, y: rect.y + rect.h / 2 - shown.height / 2 / k, k },
          220,
        );
      }
    };
    expose('graph', () => describe(session, shown));
    expose('graphTimes', () => ({
      visible: session.scene.peek()?.scene.item.length ?? 0,
      moving: session.layout.busy.peek() || shown.moving,
      pictures: shown.pictures,
      scenes: shown.scenes,
      shownAt: shown.shownAt,
      layoutMs: session.layoutMs,
    }));
    return () => {
      for (const stop of stops) stop();
      clearTimeout(timer);
      shown.close();
      stage.current = null;
      expose('graph', () => null);
      expose('graphTimes', () => null);
    };
  }, [session, stage]);

  const key = (event: KeyboardEvent) => {
    const shown = stage.current;
    if (!shown || event.ctrlKey || event.metaKey || event.altKey) return;
    const handled = onKey(event, session, shown, focusSearch);
    if (handled) event.preventDefault();
  };
  const selected = session.selected.value;
  return (
    <div class="graph-stage">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: hears the keys of the tree within */}
      <div class="graph-tree" onKeyDown={key}>
        <canvas ref={canvas} class="graph-canvas" />
        <div
          ref={box}
          class="hidden-for-the-eye"
          role="tree"
          tabIndex={0}
          aria-label="Graph"
          aria-busy={session.layout.busy.value}
          aria-activedescendant={selected === null ? undefined : itemId(selected)}
        >
          <Mirror session={session} />
        </div>
      </div>
      <Breadcrumb session={session} stage={stage} />
      <div class="g-corner g-left-corner">
        <Legend session={session} />
      </div>
      <div class="g-corner g-right-corner">
        <div class="g-zoom-buttons">
          <button type="button" title="Zoom in (+)" onClick={() => stage.current?.zoom(1.4)}>
            +
          </button>
          <button type="button" title="Zoom out (−)" onClick={() => stage.current?.zoom(1 / 1.4)}>
            −
          </button>
          <button type="button" title="Fit (F)" onClick={() => fitAll(session, stage.current)}>
            Fit
          </button>
        </div>
        <Minimap session={session} stage={stage} handle={minimap} />
      </div>
    </div>
  );
}

const LEGEND = { width: 216, height: 190 };
const CORNER = { width: 190, height: 165 };

/** The camera that shows all, clear of the corners that hold the legend and the minimap. */
function fitClear(indexed: IndexedScene, stage: Stage): Camera {
  const { width, height } = stage;
  const all = { x: 0, y: 0, w: indexed.scene.width, h: indexed.scene.height };
  const taken = (camera: Camera, left: number, top: number, right: number, bottom: number) =>
    indexed
      .itemsIn(
        camera.x + left / camera.k,
        camera.y + top / camera.k,
        camera.x + right / camera.k,
        camera.y + bottom / camera.k,
      )
      .some((i) => indexed.scene.kind[i] !== OPENED);
  const whole = fit(all, width, height);
  const left = taken(whole, 0, height - LEGEND.height, LEGEND.width, height) ? LEGEND.width - 20 : 0;
  const right = taken(whole, width - CORNER.width, height - CORNER.height, width, height)
    ? CORNER.width - 20
    : 0;
  if (left + right === 0) return whole;
  // Lifted clear of the corners, or moved aside: whichever shows more.
  const aside = fit(all, width - left - right, height);
  const lifted = fit(
    all,
    width,
    height - Math.max(left > 0 ? LEGEND.height : 0, right > 0 ? CORNER.height : 0),
  );
  if (lifted.k > aside.k) return lifted;
  return { x: aside.x - left / aside.k, y: aside.y, k: aside.k };
}

function fitAll(session: Session, stage: Stage | null): void {
  const indexed = session.scene.peek();
  if (indexed && stage) stage.move(fitClear(indexed, stage), 220);
}

function Breadcrumb({ session, stage }: { session: Session; stage: { current: Stage | null } }) {
  const { model } = session;
  const selected = session.selected.value;
  const vertex = selected === null ? model.root : selected < model.total ? selected : -1;
  const above =
    vertex >= 0
      ? model.ancestors(vertex)
      : [
          ...model.ancestors(model.header.series[selected! - model.total]!.parent),
          model.header.series[selected! - model.total]!.parent,
        ];
  const chain = vertex === model.root ? [model.root] : above;
  const go = (group: number) => {
    if (group === model.root) {
      session.select(null);
      fitAll(session, stage.current);
    } else session.goTo(group);
  };
  return (
    <nav class="g-breadcrumb" aria-label="Where the selection is">
      {chain.map((group) => (
        <span key={group}>
          <button type="button" class="quiet" onClick={() => go(group)}>
            {group === model.root ? safeText(session.entry.title || 'graph') : safeText(model.labels[group]!)}
          </button>
          <span class="g-slash">/</span>
        </span>
      ))}
      {selected !== null && <span class="g-here">{safeText(session.label(selected))}</span>}
      {session.unknown.value && (
        <span class="g-quiet-text" role="status">
          {' '}
          {safeText(session.unknown.value, 120)} is not in this graph
        </span>
      )}
      <LayoutState session={session} />
    </nav>
  );
}

/** That a layout is on its way, and how to leave it; or that it failed. */
function LayoutState({ session }: { session: Session }) {
  const { layout } = session;
  if (layout.failure.value !== null) {
    return (
      <span class="g-layout-failed" role="alert">
        {safeText(layout.failure.value, 200)}{' '}
        <button type="button" onClick={() => layout.retry()}>
          Try again
        </button>
      </span>
    );
  }
  if (!layout.busy.value) return null;
  return (
    <span class="g-quiet-text g-laying-out">
      laying out…
      {session.scene.value && (
        <button type="button" onClick={() => session.cancelLayout()}>
          Cancel
        </button>
      )}
    </span>
  );
}

const STEPS: Record<string, [number, number]> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

function onKey(event: KeyboardEvent, session: Session, stage: Stage, focusSearch: () => void): boolean {
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

/** The item to walk to: along an edge if there is one in that direction, else the nearest there. */
function neighbourInDirection(session: Session, stage: Stage, [dx, dy]: [number, number]): number {
  const scene = session.scene.peek()!;
  const s = scene.scene;
  const selected = session.selected.peek();
  const at = selected === null ? undefined : scene.indexOf.get(selected);
  if (at === undefined) {
    // Nothing is selected: begin with what is nearest to the middle of the view.
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

/** What tests and the curious see: window.__board.graph. */
function describe(session: Session, stage: Stage) {
  const indexed = session.scene.peek();
  const bounds = stage.canvas.getBoundingClientRect();
  const s = indexed?.scene;
  const { x, y, k } = stage.camera;
  const most = Math.min(s?.item.length ?? 0, 5000);
  const items = Array.from({ length: most }, (_, i) => {
    const item = s!.item[i]!;
    const r = indexed!.rect(i);
    const style = stage.paint!.style(item);
    return {
      id: item,
      name: session.nameOfItem(item),
      label: session.label(item),
      kind: KINDS[s!.kind[i]!],
      parent: s!.parent[i],
      area: s!.flags[i]! & IN_SIDE ? 'side' : 'main',
      rect: [bounds.x + (r.x - x) * k, bounds.y + (r.y - y) * k, r.w * k, r.h * k],
      box: [r.x, r.y, r.w, r.h],
      fill: style.fill,
      notch: style.notch,
      members:
        s!.kind[i] === STACK
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
    ready: indexed !== null && !session.layout.busy.peek() && stage.firstDrawMs > 0,
    busy: session.layout.busy.peek(),
    visible: s?.item.length ?? 0,
    edges: s?.from.length ?? 0,
    items,
    selected: session.selected.peek(),
    camera: { ...stage.camera },
    moving: stage.moving,
    colour: colourMode.peek(),
    frameTimes: [...stage.frameTimes],
    firstDrawMs: stage.firstDrawMs,
    layoutMs: session.layoutMs,
    roundTripMs: session.layout.roundTripMs,
    bright: stage.emphasis.bright?.size ?? 0,
  };
}
