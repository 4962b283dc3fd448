/** The worker that computes components, t-SNE and UMAP, so that the page stays responsive. */
import { UMAP } from 'umap-js';
import { messageOf } from '../../api/error_message.ts';
import { affinitiesOf } from '../algorithms/affinities.ts';
import { allNeighbours, type NeighbourTable } from '../algorithms/neighbours.ts';
import { principalComponents } from '../algorithms/pca.ts';
import { seeded } from '../algorithms/random.ts';
import { Tsne } from '../algorithms/tsne.ts';
import type { FromWorker, LayoutOptions, ToWorker } from './worker_messages.ts';

const TSNE_ROUNDS = 1000;
const SHOW_EVERY_MS = 60;
/** The most dimensions for distances: those of the first components. */
const MOST_DIMS = 50;
const THETA = 0.6;

interface Running {
  step(): void;
  y(): Float32Array;
  iteration: () => number;
  cost: () => number;
  of: number;
  rate(value: number): void;
}

let running: Running | null = null;
let paused = false;
let scheduled = false;

const say = (message: FromWorker, transfer: Transferable[] = []) =>
  (self as unknown as Worker).postMessage(message, transfer);

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  try {
    if (data.kind === 'pca') components(data.points, data.rows, data.dims, data.count);
    else if (data.kind === 'layout') begin(data.points, data.rows, data.dims, data.options);
    else if (data.kind === 'rate') running?.rate(data.learningRate);
    else if (data.kind === 'pause') paused = true;
    else if (data.kind === 'resume' && running) {
      paused = false;
      running.of += data.more;
      schedule();
    }
  } catch (error) {
    say({ kind: 'failed', text: messageOf(error) });
  }
};

function components(points: Float32Array, rows: number, dims: number, count: number): void {
  say({ kind: 'progress', text: 'Principal components', share: 0 });
  const { coordinates, shares, sampled } = principalComponents(points, rows, dims, count);
  say({ kind: 'pca', coordinates, shares, sampled });
}

function begin(points: Float32Array, rows: number, dims: number, options: LayoutOptions): void {
  const reduced = reduce(points, rows, dims);
  const count =
    options.method === 'tsne' ? Math.ceil(options.perplexity * 3) : Math.max(2, options.neighbours - 1);
  let shown = 0;
  const near = allNeighbours(reduced.points, rows, reduced.dims, count, (share) => {
    if (performance.now() - shown < SHOW_EVERY_MS) return;
    shown = performance.now();
    say({ kind: 'progress', text: 'Nearest neighbours', share });
  });
  say({ kind: 'progress', text: 'First layout', share: 1 });
  running =
    options.method === 'tsne'
      ? tsne(near, rows, options)
      : umap(reduced.points, reduced.dims, near, rows, options);
  paused = false;
  schedule();
}

function reduce(points: Float32Array, rows: number, dims: number) {
  if (dims <= MOST_DIMS) return { points, dims };
  say({ kind: 'progress', text: 'Principal components', share: 0 });
  const { coordinates } = principalComponents(points, rows, dims, MOST_DIMS);
  const out = new Float32Array(rows * coordinates.length);
  coordinates.forEach((column, k) => {
    for (let i = 0; i < rows; i++) out[i * coordinates.length + k] = column[i]!;
  });
  return { points: out, dims: coordinates.length };
}

function tsne(
  near: NeighbourTable,
  rows: number,
  { dims, perplexity, learningRate }: LayoutOptions,
): Running {
  const layout = new Tsne(affinitiesOf(near, rows, perplexity), rows, { dims, learningRate, theta: THETA });
  return {
    step: () => layout.step(),
    y: () => Float32Array.from(layout.y),
    iteration: () => layout.iteration,
    cost: () => layout.cost,
    of: TSNE_ROUNDS,
    rate: (value) => {
      layout.learningRate = value;
    },
  };
}

function umap(
  points: Float32Array,
  dims: number,
  near: NeighbourTable,
  rows: number,
  { dims: nComponents, neighbours, minDist }: LayoutOptions,
): Running {
  const layout = new UMAP({
    nComponents,
    nNeighbors: Math.min(neighbours, rows),
    minDist,
    random: seeded(2018),
  });
  const k = near.count;
  const index: number[][] = [];
  const distance: number[][] = [];
  const table: number[][] = [];
  for (let i = 0; i < rows; i++) {
    index.push([i, ...near.index.subarray(i * k, i * k + k)]);
    distance.push([0, ...near.square.subarray(i * k, i * k + k).map(Math.sqrt)]);
    table.push([...points.subarray(i * dims, i * dims + dims)]);
  }
  layout.setPrecomputedKNN(index, distance);
  const of = layout.initializeFit(table);
  let iteration = 0;
  return {
    step: () => {
      layout.step();
      iteration++;
    },
    y: () => Float32Array.from(layout.getEmbedding().flat()),
    iteration: () => iteration,
    cost: () => Number.NaN,
    of,
    rate: () => {},
  };
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  setTimeout(work, 0);
}

function work(): void {
  scheduled = false;
  if (!running || paused) return;
  const until = performance.now() + SHOW_EVERY_MS;
  do {
    if (running.iteration() >= running.of) break;
    running.step();
  } while (performance.now() < until);
  const y = running.y();
  const iteration = running.iteration();
  const done = iteration >= running.of;
  say({ kind: 'layout', y, iteration, of: running.of, cost: running.cost(), done }, [y.buffer]);
  if (!done) schedule();
}
