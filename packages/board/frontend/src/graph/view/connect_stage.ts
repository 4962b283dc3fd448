/** Connects the canvas of a graph with its session and with the address. */
import { computed, effect, untracked } from '@preact/signals';
import { themeVersion } from '../../style/theme.ts';
import { inks, paintTheme } from '../canvas/canvas_theme.ts';
import { Stage, type StageContent } from '../canvas/stage.ts';
import { type Camera, fit } from '../drawing/camera.ts';
import { Paint } from '../drawing/paint.ts';
import { LABEL_FONT_PX } from '../scene/box_sizes.ts';
import type { IndexedScene } from '../scene/indexed_scene.ts';
import { OPENED } from '../scene/scene.ts';
import { cameraInUrl, colourMode, tracing } from '../session/address.ts';
import type { Session } from '../session/session.ts';
import type { LookAt } from '../session/view_edits.ts';
import { fitClear } from './fit_clear.ts';
import { hoverText } from './hover_text.ts';

const MOVE_MS = 220;
/** The address follows the camera once it has rested for this long. */
const ADDRESS_MS = 250;
/** The camera shows the whole graph instead of a group while the scale stays above these. */
const READABLE_AFTER_CLOSE = 0.6;
const READABLE_AFTER_OPEN = 0.75;

const NONE: ReadonlySet<number> = new Set();

/**
 * Shows a session on a canvas.
 *
 * Args:
 *   focusTree: moves the keyboard focus to the graph.
 *   cameraMoved: called after each movement of the camera.
 * Returns: the stage, whether the address has its camera, and a function that ends the connection.
 */
export function connectStage(
  canvas: HTMLCanvasElement,
  session: Session,
  focusTree: () => void,
  cameraMoved: () => void,
): { stage: Stage; isAddressed: () => boolean; close: () => void } {
  const address = new CameraAddress();
  const stage = new Stage(canvas, contentOf(session), {
    select: (item) => {
      session.select(item);
      focusTree();
    },
    toggle: (item, event) => {
      session.selected.value = item;
      session.toggle(item, event.shiftKey);
      focusTree();
    },
    hover: (index) => {
      const item = index < 0 ? undefined : session.scene.peek()?.scene.item[index];
      canvas.title = item === undefined ? '' : hoverText(session, item);
    },
    menu: (item) => session.select(item),
    moved: (camera) => {
      cameraMoved();
      address.write(camera);
    },
  });
  const stops = [
    followColours(session, stage),
    followScene(session, stage),
    address.follow((camera) => {
      if (camera) stage.jump(camera);
      else fitSoon(session, stage);
    }),
    effect(() => {
      stage.selected = session.selected.value;
      void tracing.value;
      stage.emphasis = untracked(() => session.emphasis());
      stage.invalidate();
    }),
  ];
  return {
    stage,
    isAddressed: () => !address.pending,
    close: () => {
      for (const stop of stops) stop();
      stage.close();
    },
  };
}

/** The camera in the address, and which of its values this view has written. */
class CameraAddress {
  private own = cameraInUrl.peek();
  private timer: ReturnType<typeof setTimeout> | undefined;

  get pending(): boolean {
    return this.timer !== undefined;
  }

  write(camera: Camera): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.own = { ...camera };
      cameraInUrl.value = this.own;
    }, ADDRESS_MS);
  }

  /** Calls `jump` when the address changes from outside. Returns: a function that ends that. */
  follow(jump: (camera: Camera | null) => void): () => void {
    const stop = effect(() => {
      const requested = cameraInUrl.value;
      if (requested === this.own) return;
      this.own = requested;
      untracked(() => jump(requested));
    });
    return () => {
      stop();
      clearTimeout(this.timer);
    };
  }
}

/** Shows all of the view that the address names: now, or once its layout is there. */
function fitSoon(session: Session, stage: Stage): void {
  // The view and the camera change together, in either order.
  queueMicrotask(() => {
    const scene = session.scene.peek();
    if (session.layout.busy.peek()) session.lookAt = { item: session.model.root, whole: true };
    else if (scene) stage.jump(fitClear(scene, stage));
  });
}

function contentOf(session: Session): StageContent {
  const colours = inks();
  return {
    model: session.model,
    inks: colours,
    paint: new Paint(session.model, paintTheme.peek(), 'structure'),
    label: (item) => session.label(item),
    textWidth: textMeasure(colours.font),
  };
}

function followColours(session: Session, stage: Stage): () => void {
  const pulled = computed(() => session.scene.value?.pulled ?? NONE);
  return effect(() => {
    void themeVersion.value;
    const mode = colourMode.value;
    const costs = session.costs.shown.value;
    const cost = mode === 'time' ? costs?.time : mode === 'memory' ? costs?.memory : null;
    const comparison = session.comparison.shown.value;
    const paint = new Paint(session.model, paintTheme.value, mode, cost ?? null, comparison, pulled.value);
    stage.content = { ...stage.content, inks: inks(), paint };
    stage.invalidate();
  });
}

function followScene(session: Session, stage: Stage): () => void {
  let first = true;
  return effect(() => {
    const scene = session.scene.value;
    if (!scene) return;
    untracked(() => {
      stage.emphasis = session.emphasis();
      const { anchor, lookAt } = session;
      session.anchor = null;
      session.lookAt = null;
      if (!first) {
        stage.show(scene, anchor);
        if (lookAt) look(session, stage, scene, lookAt);
        return;
      }
      first = false;
      stage.camera = cameraInUrl.peek() ?? fitClear(scene, stage);
      stage.show(scene, null);
      stage.touch();
      fitAgain(session, stage);
      if (lookAt && !cameraInUrl.peek()) look(session, stage, scene, lookAt);
    });
  });
}

/** Fits the first picture once the legend is there, unless the reader has moved it by then. */
function fitAgain(session: Session, stage: Stage): void {
  const { camera } = stage;
  if (cameraInUrl.peek()) return;
  requestAnimationFrame(() =>
    setTimeout(() => {
      const scene = session.scene.peek();
      if (scene && stage.camera === camera) stage.jump(fitClear(scene, stage));
    }),
  );
}

/** Moves the camera to an item: to the whole graph while that stays readable, else to the item alone. */
function look(session: Session, stage: Stage, scene: IndexedScene, { item, whole }: LookAt): void {
  const { width, height } = stage;
  if (item === session.model.root) {
    const all = { x: 0, y: 0, w: scene.scene.width, h: scene.scene.height };
    if (whole || fit(all, width, height).k > READABLE_AFTER_CLOSE) {
      stage.move(fitClear(scene, stage), MOVE_MS, stage.movingBoxes);
    }
    return;
  }
  const i = scene.indexOf.get(item) ?? session.standsFor(item);
  if (i < 0) return;
  const rect = scene.rect(i);
  const opened = scene.scene.kind[i] === OPENED;
  if (opened && !whole) {
    const all = fitClear(scene, stage);
    if (all.k >= READABLE_AFTER_OPEN) {
      stage.move(all, MOVE_MS, stage.movingBoxes);
      return;
    }
  }
  if (opened || whole) {
    stage.look(rect, whole);
    return;
  }
  // An item that was searched for moves to the centre, large enough to read.
  const k = Math.max(0.9, Math.min(1.4, stage.camera.k));
  const [x, y] = [rect.x + rect.w / 2 - width / 2 / k, rect.y + rect.h / 2 - height / 2 / k];
  stage.move({ x, y, k }, MOVE_MS);
}

/** Returns: a function for widths of labels, as sums of character widths. Kerning changes less than a pixel. */
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
