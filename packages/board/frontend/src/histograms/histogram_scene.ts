/** The geometry of a histogram card: rows, bins and axes in pixels. */
import { nearestStep } from '../state/nearest_step.ts';
import { type HistogramTable, onEdges } from './histogram_table.ts';
import { binOf, sharedEdges } from './rebin.ts';

export type Mode = 'offset' | 'overlay' | 'heat' | 'distribution';
export type StepAxis = 'step' | 'relative' | 'wall';

export interface Layer {
  run: number;
  name: string;
  colour: string;
  table: HistogramTable;
}

export interface View {
  mode: Mode;
  axis: StepAxis;
  logCounts: boolean;
  /** Whether each run has its own facet. */
  apart: boolean;
}

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Facet {
  title: string;
  box: Box;
  layers: Layer[];
}

export interface Scene {
  view: View;
  width: number;
  height: number;
  facets: Facet[];
  /** Least and greatest value, shared by all facets. */
  lo: number;
  hi: number;
  /** Ends of the axis of steps, in units of the axis. */
  from: number;
  to: number;
  /** The highest count of a bin. */
  peak: number;
  /** Room for the highest ridge above its base line. */
  headroom: number;
}

const LEFT = 46;
const RIGHT = 10;
const TOP = 6;
const TITLE = 16;
const BOTTOM = 20;

/** The position of a row on the step axis: a step, seconds since the run's first row, or wall time in seconds. */
export function position(table: HistogramTable, row: number, axis: StepAxis): number {
  if (axis === 'step') return table.steps[row]!;
  return axis === 'wall' ? table.walls[row]! : table.walls[row]! - table.walls[0]!;
}

export function compose(layers: Layer[], view: View, width: number, height: number): Scene {
  const filled = layers.filter((layer) => layer.table.rows > 0);
  const bins = Math.max(1, ...filled.map((layer) => layer.table.bins));
  const first = filled[0]?.table.edges;
  const alone = filled.every(({ table }) => table.edges === first);
  const edges =
    alone && first
      ? first
      : sharedEdges(
          filled.map((l) => l.table.edges),
          bins,
        );
  const shared = filled.map((layer) => ({ ...layer, table: onEdges(layer.table, edges) }));
  let from = Infinity;
  let to = -Infinity;
  let peak = 0;
  for (const { table } of shared) {
    for (let row = 0; row < table.rows; row++) {
      const at = position(table, row, view.axis);
      if (at < from) from = at;
      if (at > to) to = at;
    }
    for (const count of table.counts) if (count > peak) peak = count;
  }
  if (!(to >= from)) [from, to] = [0, 1];
  const groups = view.apart ? shared.map((layer) => [layer]) : shared.length ? [shared] : [];
  const top = TOP + (groups.length > 1 ? TITLE : 0);
  const share = width / Math.max(1, groups.length);
  const facets = groups.map((group, i): Facet => {
    const w = Math.max(1, share - LEFT - RIGHT);
    const box = { x: i * share + LEFT, y: top, w, h: Math.max(1, height - top - BOTTOM) };
    return { title: group.length === 1 ? group[0]!.name : '', box, layers: group };
  });
  const h = facets[0]?.box.h ?? 1;
  return {
    view,
    width,
    height,
    facets,
    lo: edges[0] ?? 0,
    hi: edges[edges.length - 1] ?? 1,
    from,
    to,
    peak,
    // A single row may fill the box.
    headroom: to > from ? Math.min(h * 0.42, Math.max(24, h * 0.3)) : h * 0.96,
  };
}

/** A count as a height between 0 and 1. */
export function level(scene: Scene, count: number): number {
  if (!(count > 0) || !(scene.peak > 0)) return 0;
  return scene.view.logCounts ? Math.log1p(count) / Math.log1p(scene.peak) : count / scene.peak;
}

/** x of a value where values run to the right (offset, overlay), y of it where they run up. */
export function valueAt(scene: Scene, box: Box, value: number): number {
  const share = (value - scene.lo) / (scene.hi - scene.lo || 1);
  return upright(scene) ? box.y + box.h * (1 - share) : box.x + box.w * share;
}

/** Whether the picture has steps to the right and values up. */
export function upright(scene: Scene): boolean {
  return scene.view.mode === 'heat' || scene.view.mode === 'distribution';
}

/** The position of a row on the step axis: x if upright, else y of its base line. */
export function stepAt(scene: Scene, box: Box, at: number): number {
  const share = scene.to > scene.from ? (at - scene.from) / (scene.to - scene.from) : 0.5;
  if (upright(scene)) return box.x + box.w * share;
  const one = scene.to > scene.from ? share : 1;
  return box.y + scene.headroom + (box.h - scene.headroom) * one;
}

/** The borders of a row's column in a heat-map, half way to its neighbours. */
export function columnOf(scene: Scene, box: Box, table: HistogramTable, row: number): [number, number] {
  const at = (r: number) => stepAt(scene, box, position(table, r, scene.view.axis));
  const middle = at(row);
  if (table.rows === 1) return [box.x, box.x + box.w];
  const left = row > 0 ? (at(row - 1) + middle) / 2 : middle - (at(1) - middle) / 2;
  const right = row < table.rows - 1 ? (middle + at(row + 1)) / 2 : middle + (middle - at(row - 1)) / 2;
  return [Math.max(box.x, Math.min(left, right)), Math.min(box.x + box.w, Math.max(left, right))];
}

export interface Bucket {
  facet: number;
  layer: number;
  row: number;
  bin: number;
}

/** The bucket under a point; null outside of the pictures. */
export function hit(scene: Scene, x: number, y: number): Bucket | null {
  const facet = scene.facets.findIndex((f) => x >= f.box.x && x < f.box.x + f.box.w);
  const found = scene.facets[facet];
  if (!found || y < found.box.y || y > found.box.y + found.box.h) return null;
  const { box, layers } = found;
  const across = upright(scene) ? 1 - (y - box.y) / box.h : (x - box.x) / box.w;
  const bins = layers[0]?.table.bins ?? 0;
  const bin = Math.max(0, Math.min(bins - 1, Math.floor(across * bins)));
  const nearest = scene.view.mode === 'overlay' ? nearestCurve : nearestLine;
  const place = nearest(scene, found, bin, upright(scene) ? x : y);
  return place && { facet, bin: binUnder(scene, layers[place.layer]!.table, across), ...place };
}

/** The bin that contains a value; bins may differ in width. */
function binUnder(scene: Scene, table: HistogramTable, across: number): number {
  return binOf(table.edges, scene.lo + across * (scene.hi - scene.lo));
}

type Place = { layer: number; row: number };

function nearestLine(scene: Scene, { box, layers }: Facet, _bin: number, along: number): Place | null {
  let best: Place | null = null;
  let distance = Infinity;
  layers.forEach(({ table }, layer) => {
    for (let row = 0; row < table.rows; row++) {
      const away = Math.abs(stepAt(scene, box, position(table, row, scene.view.axis)) - along);
      if (away < distance) {
        distance = away;
        best = { layer, row };
      }
    }
  });
  return best;
}

function nearestCurve(scene: Scene, { box, layers }: Facet, bin: number, y: number): Place | null {
  let best: Place | null = null;
  let distance = Infinity;
  layers.forEach(({ table }, layer) => {
    for (let row = 0; row < table.rows; row++) {
      const top = overlayY(scene, box, table.counts[row * table.bins + bin]!);
      if (Math.abs(top - y) <= distance) {
        distance = Math.abs(top - y);
        best = { layer, row };
      }
    }
  });
  return best;
}

export function overlayY(scene: Scene, box: Box, count: number): number {
  return box.y + box.h * (1 - level(scene, count));
}

/** The row of each layer nearest to a step, which the step cursor marks. */
export function rowsAt(facet: Facet, step: number): number[] {
  return facet.layers.map(({ table }) => nearestStep(table.steps, step));
}
