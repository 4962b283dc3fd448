/** The picture with its corners: breadcrumb, legend, minimap; and the keyboard. */
import { computed, effect, untracked } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { themeVersion } from '../../style/theme.ts';
import { expose } from '../../testing/test_hook.ts';
import { inks, paintTheme } from '../canvas/canvas_theme.ts';
import { Stage } from '../canvas/stage.ts';
import { fit } from '../drawing/camera.ts';
import { Paint } from '../drawing/paint.ts';
import { verticesOf } from '../model/view_state.ts';
import { LABEL_FONT_PX } from '../scene/box_sizes.ts';
import { GROUP, IN_SIDE, OPENED, STACK } from '../scene/scene.ts';
import { cameraInUrl, colourMode, graphName, tracing } from '../session/address.ts';
import type { Session } from '../session/session.ts';
import { Breadcrumb } from './breadcrumb.tsx';
import { fitAll, fitClear } from './fit_clear.ts';
import { onKey } from './graph_keys.ts';
import { itemId, Mirror } from './graph_tree.tsx';
import { Legend } from './legend.tsx';
import { Minimap, type MinimapHandle } from './minimap.tsx';

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
