/** Projects points to two or three dimensions: by components, layouts of a worker, or custom axes. */
import { computed, effect, signal } from '@preact/signals';
import { startWorker } from '../../browser/workers.ts';
import {
  components,
  customWords,
  dimensions,
  learningRate,
  method,
  perplexity,
  spherical,
  umapDistance,
  umapNeighbours,
} from '../address/address_fields.ts';
import { alongAxis, sphered } from '../algorithms/pca.ts';
import { withText } from '../data/label_search.ts';
import { labelColumn, type PointTable, table } from '../data/projector_data.ts';
import { directionBetween, pickedPoints, placedColumns, placedRows, spread } from './placement.ts';
import type { FromWorker, LayoutOptions, ToWorker } from './worker_messages.ts';

export const MOST_COMPONENTS = 10;
export const MOST_LAID_OUT = { tsne: 10_000, umap: 5000 };

export interface Components {
  of: Float32Array;
  coordinates: Float32Array[];
  shares: Float64Array;
  sampled: number;
}

export interface Layout {
  key: string;
  dims: 2 | 3;
  /** The points that it places. */
  index: Int32Array;
  y: Float32Array | null;
  iteration: number;
  of: number;
  cost: number;
  done: boolean;
}

export interface Drawn {
  /** [n, 3] within the ball of radius 1. */
  positions: Float32Array<ArrayBuffer>;
  /** The point of each position; null if all points are drawn in order. */
  index: Int32Array | null;
  flat: boolean;
}

/** The points that distances and projections use. */
export const values = computed<Float32Array<ArrayBuffer> | null>(() => {
  const shown = table.value;
  if (!shown) return null;
  return spherical.value ? sphered(shown.points, shown.count, shown.dims) : shown.points;
});

export const pca = signal<Components | null>(null);
export const layout = signal<Layout | null>(null);
export const paused = signal(false);
export const progress = signal<{ text: string; share: number } | null>(null);
export const trouble = signal<string | null>(null);
/** Why there are no components. */
export const componentsTrouble = signal<string | null>(null);

export const autoRate = (n: number): number => Math.max(50, Math.round(n / 48));
export const boundedPerplexity = (n: number): number =>
  Math.max(1, Math.min(perplexity.value, Math.floor((n - 1) / 3)));

/** The axes of the custom projection, or the reason why there are none. */
export const custom = computed<{ axes: Float64Array[]; message: string }>(() => {
  const shown = table.value;
  const points = values.value;
  const column = labelColumn.value;
  const [left = '', right = '', bottom = '', top = ''] = customWords.value;
  if (!shown || !points || !column)
    return { axes: [], message: 'The points have no labels to choose axes by.' };
  const axes: Float64Array[] = [];
  for (const [from, to] of [
    [left, right],
    [bottom, top],
  ] as const) {
    if (from === '' || to === '') continue;
    const a = withText(column.values, from);
    const b = withText(column.values, to);
    const axis = directionBetween(points, shown.dims, a, b);
    if (!axis) {
      const lacking = a.length === 0 ? from : b.length === 0 ? to : null;
      return {
        axes: [],
        message: lacking === null ? `"${from}" and "${to}" are at one place.` : `No label has "${lacking}".`,
      };
    }
    axes.push(axis);
  }
  return { axes, message: axes.length ? '' : 'Name what is to the left and to the right.' };
});

export const drawn = computed<Drawn | null>(() => {
  const shown = table.value;
  const points = values.value;
  if (!shown || !points) return null;
  const flat = dimensions.value === '2';
  if (method.value === 'pca') {
    const found = pca.value;
    if (!found || found.of !== points) return null;
    const axes = components.value.slice(0, flat ? 2 : 3);
    const columns = axes.map((c) => found.coordinates[c] ?? new Float32Array(shown.count));
    return { positions: placedColumns(columns), index: null, flat };
  }
  if (method.value === 'custom') {
    const { axes } = custom.value;
    if (!axes.length) return null;
    const zero = new Float64Array(shown.dims);
    const columns = axes.map((axis) => alongAxis(points, shown.count, shown.dims, axis, zero));
    // With a single axis, the vertical axis is the first principal component.
    const first = pca.value?.of === points ? pca.value.coordinates[0] : undefined;
    if (columns.length === 1 && first) columns.push(first);
    return { positions: placedColumns(columns), index: null, flat: true };
  }
  const found = layout.value;
  if (!found?.y || found.key !== requestedKey.value) return null;
  const all = found.index.length === shown.count;
  return {
    positions: placedRows(found.y, found.dims),
    index: all ? null : found.index,
    flat: found.dims === 2,
  };
});

const requested = computed<{ shown: PointTable; options: LayoutOptions; index: Int32Array } | null>(() => {
  const shown = table.value;
  const how = method.value;
  if (!shown || (how !== 'tsne' && how !== 'umap')) return null;
  const index = spread(shown.count, MOST_LAID_OUT[how]);
  const options: LayoutOptions = {
    method: how,
    dims: dimensions.value === '2' ? 2 : 3,
    perplexity: how === 'tsne' ? boundedPerplexity(index.length) : 0,
    learningRate: 0,
    neighbours: how === 'umap' ? Math.min(umapNeighbours.value, index.length) : 0,
    minDist: how === 'umap' ? umapDistance.value : 0,
  };
  return { shown, options, index };
});

const requestedKey = computed(() =>
  requested.value
    ? JSON.stringify([
        requested.value.shown.info.id,
        requested.value.shown.info.version,
        requested.value.options,
        spherical.value,
      ])
    : (layout.value?.key ?? ''),
);

let componentsWorker: Worker | null = null;
let layoutWorker: Worker | null = null;
const again = signal(0);

const post = (worker: Worker, message: ToWorker) => worker.postMessage(message);

/** Keeps components and layouts up to date. Returns: a function that ends this. */
export function followProjection(): () => void {
  const endComponents = effect(() => {
    const shown = table.value;
    const points = values.value;
    if (!shown || !points || pca.peek()?.of === points) return;
    runComponents(shown, points);
  });
  const endLayout = effect(() => {
    const key = requestedKey.value;
    void again.value;
    const what = requested.value;
    const points = values.value;
    if (!what || !points) {
      if (layoutWorker) post(layoutWorker, { kind: 'pause' });
      return;
    }
    if (layout.peek()?.key === key) {
      if (layoutWorker && !paused.peek()) post(layoutWorker, { kind: 'resume', more: 0 });
      return;
    }
    runLayout(key, what.shown, points, what.index, what.options);
  });
  const endRate = effect(() => {
    const rate = learningRate.value;
    const n = layout.value?.index.length ?? 0;
    if (layoutWorker && n) post(layoutWorker, { kind: 'rate', learningRate: rate || autoRate(n) });
  });
  return () => {
    endComponents();
    endLayout();
    endRate();
    componentsWorker?.terminate();
    layoutWorker?.terminate();
    componentsWorker = layoutWorker = null;
    layout.value = null;
    progress.value = null;
  };
}

export function pause(on: boolean): void {
  paused.value = on;
  if (layoutWorker) post(layoutWorker, on ? { kind: 'pause' } : { kind: 'resume', more: 0 });
}

/** Continues beyond the planned iterations. */
export function goOn(): void {
  paused.value = false;
  if (layout.value) layout.value = { ...layout.value, done: false };
  if (layoutWorker) post(layoutWorker, { kind: 'resume', more: 500 });
}

export function restart(): void {
  layout.value = null;
  again.value++;
}

function runComponents(shown: PointTable, points: Float32Array<ArrayBuffer>): void {
  componentsWorker?.terminate();
  componentsTrouble.value = null;
  const failed = (why: string) => {
    if (componentsWorker !== worker) return;
    componentsTrouble.value = why;
    worker.terminate();
    componentsWorker = null;
  };
  const worker = startWorker('projector', failed);
  componentsWorker = worker;
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === 'pca') {
      pca.value = { of: points, ...data };
      worker.terminate();
      if (componentsWorker === worker) componentsWorker = null;
    } else if (data.kind === 'failed') failed(data.text);
  };
  post(worker, { kind: 'pca', points, rows: shown.count, dims: shown.dims, count: MOST_COMPONENTS });
}

function runLayout(
  key: string,
  shown: PointTable,
  points: Float32Array<ArrayBuffer>,
  index: Int32Array,
  options: LayoutOptions,
): void {
  layoutWorker?.terminate();
  const failed = (why: string) => {
    if (worker !== layoutWorker) return;
    trouble.value = why;
    progress.value = null;
    worker.terminate();
    layoutWorker = null;
  };
  const worker = startWorker('projector', failed);
  layoutWorker = worker;
  const { dims } = options;
  trouble.value = null;
  paused.value = false;
  progress.value = { text: 'Starting', share: 0 };
  layout.value = { key, dims, index, y: null, iteration: 0, of: 0, cost: Number.NaN, done: false };
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (worker !== layoutWorker) return;
    if (data.kind === 'progress') progress.value = data;
    else if (data.kind === 'failed') failed(data.text);
    else if (data.kind === 'layout') {
      const { y, iteration, of, cost, done } = data;
      layout.value = { key, dims, index, y, iteration, of, cost, done };
      progress.value = null;
    }
  };
  const rate = learningRate.peek() || autoRate(index.length);
  const chosenPoints = index.length === shown.count ? points : pickedPoints(points, shown.dims, index);
  post(worker, {
    kind: 'layout',
    points: chosenPoints,
    rows: index.length,
    dims: shown.dims,
    options: { ...options, learningRate: rate },
  });
}
