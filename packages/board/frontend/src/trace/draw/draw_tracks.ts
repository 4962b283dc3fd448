/** Draws the rows of the timeline: tracks, scopes and memory, and calls the modules that draw over them. */

import { safeText } from '../../strings/safe_text.ts';
import { rulerTicks } from '../../units/ticks.ts';
import { itemsBetween, LEVELS, type TraceItems } from '../data/trace_items.ts';
import { pinnedHeight, type Row, topOf } from '../layout/rows.ts';
import { scopeRuns } from '../layout/scope_runs.ts';
import { spanOf } from '../layout/time_view.ts';
import { type ArrowCounts, drawArrows, drawHops, NO_ARROWS } from './draw_arrows.ts';
import { drawMemory } from './draw_memory.ts';
import { drawArea, drawMark, drawMarkedPlaces, drawSelection } from './draw_selection.ts';
import { PixelRows, pixelOf } from './pixel_rows.ts';
import type { Context, DrawnSection, TimelineScene } from './timeline_scene.ts';
import type { Painted } from './trace_colours.ts';
import { marksOfTrack, type TrackMarks, type WideItem } from './track_marks.ts';

const LABEL_FROM = 34;
/** From this height on, a track has room for borders, waits and the critical path. */
const ROOM_FROM = 8;
/** A typical node name, to measure the average width of a letter. */
const LETTERS = 'MatMul_conv2/weights_grad_Dim';

interface DrawnTrack {
  lane: number;
  y: number;
  height: number;
  /** Its row of pixels, and the height at which the row is drawn; 0 where another track draws it. */
  pixels: number;
  covers: number;
  marks: TrackMarks;
}

interface Narrow {
  lanes: Map<Row, DrawnTrack[]>;
  /** The number of pixel rows. */
  n: number;
}

const pixels = new PixelRows();

/** Draws the timeline. Returns: how many arrows are visible and how many were drawn. */
export function drawTimeline(on: Context, picture: TimelineScene): ArrowCounts {
  const { width, height, ink, view } = picture;
  on.fillStyle = ink.surface;
  on.fillRect(0, 0, width, height);
  drawGrid(on, picture);
  const narrow = paintNarrow(picture);
  const pinned = pinnedHeight(picture.rows);
  if (pinned > 0) clipped(on, pinned, height, width, () => drawRows(on, picture, narrow, false));
  else drawRows(on, picture, narrow, false);
  drawEnds(on, picture);
  if (pinned > 0) {
    on.fillStyle = ink.surface;
    on.fillRect(0, 0, width, pinned);
    clipped(on, 0, pinned, width, () => {
      drawGrid(on, picture);
      drawRows(on, picture, narrow, true);
    });
    on.fillStyle = ink.strong;
    on.fillRect(0, pinned - 1, width, 1);
  }
  if (picture.critical) drawHops(on, picture);
  const arrows = picture.arrows ? drawArrows(on, picture) : NO_ARROWS;
  drawMarkedPlaces(on, picture);
  drawSelection(on, picture);
  if (picture.area) drawArea(on, picture);
  if (picture.mark) drawMark(on, picture, view);
  return arrows;
}

function clipped(on: Context, top: number, bottom: number, width: number, draw: () => void): void {
  on.save();
  on.beginPath();
  on.rect(0, top, width, Math.max(0, bottom - top));
  on.clip();
  draw();
  on.restore();
}

function drawRows(on: Context, picture: TimelineScene, narrow: Narrow, pinned: boolean): void {
  const { width, height, ink, scroll } = picture;
  for (const row of picture.rows) {
    if (row.pinned !== pinned) continue;
    const y = topOf(row, scroll);
    if (y + row.height < 0 || y > height) continue;
    const section = picture.sections[row.section];
    if (!section) continue;
    if (row.kind === 'section') {
      on.fillStyle = ink.sunken;
      on.fillRect(0, y, width, row.height);
    } else if (row.kind === 'memory') {
      const curve = section.memory[row.curve];
      if (curve) drawMemory(on, picture, curve, section.duration, y, row.height);
    } else if (row.kind === 'scopes') {
      drawScopes(on, picture, section, row, y);
    } else if (row.kind === 'group' && row.open) {
      on.fillStyle = ink.sunken;
      on.globalAlpha = 0.5;
      on.fillRect(0, y, width, row.height);
      on.globalAlpha = 1;
    } else {
      for (const lane of narrow.lanes.get(row) ?? []) drawTrack(on, picture, section, lane, narrow.n);
    }
    on.fillStyle = ink.grid;
    on.fillRect(0, y + row.height - 1, width, 1);
  }
}

function drawGrid(on: Context, { width, height, view, ink }: TimelineScene): void {
  on.fillStyle = ink.grid;
  const scale = width / spanOf(view);
  for (const { time } of rulerTicks(view.t0, view.t1, width)) {
    on.fillRect(Math.round((time - view.t0) * scale), 0, 1, height);
  }
}

/** Shades the time before and after the step. */
function drawEnds(on: Context, picture: TimelineScene): void {
  const { width, height, view, ink, scroll, sections, rows } = picture;
  const scale = width / spanOf(view);
  on.fillStyle = ink.sunken;
  on.globalAlpha = 0.75;
  const begin = (0 - view.t0) * scale;
  if (begin > 0) on.fillRect(0, 0, begin, height);
  sections.forEach((section, s) => {
    const end = (section.duration - view.t0) * scale;
    const mine = rows.filter((row) => row.section === s && !row.pinned);
    const last = mine.at(-1);
    if (!last || end >= width) return;
    const top = mine[0]!.y - scroll;
    on.fillRect(Math.max(0, end), top, width - Math.max(0, end), last.y + last.height - scroll - top);
  });
  on.globalAlpha = 1;
}

/** Whether a row shows the items of its tracks; the tracks of an open group have their own rows. */
const showsTracks = (row: Row) => row.lanes.length > 0 && !(row.kind === 'group' && row.open);

/** Paints the narrow items of all visible tracks into pixel rows, and collects the wide items. */
function paintNarrow(picture: TimelineScene): Narrow {
  const { ratio, critical, ink, sections, scroll } = picture;
  const lanes = new Map<Row, DrawnTrack[]>();
  let n = 0;
  for (const row of picture.rows) {
    const y = topOf(row, scroll);
    if (y + row.height < 0 || y > picture.height || !showsTracks(row)) continue;
    const each = row.height / row.lanes.length;
    const air = each > 14 ? 2 : each > 4 ? 1 : 0;
    // Tracks less than a pixel high share a pixel row.
    const together = Math.max(1, Math.floor(1 / (each * ratio)));
    const drawn = row.lanes.map((lane, k) => ({
      lane,
      y: y + k * each + air,
      height: each - 2 * air,
      pixels: n + Math.floor(k / together),
      covers: k % together ? 0 : each * together - 2 * air,
      marks: { wide: [], waits: [] } as TrackMarks,
    }));
    n = drawn.at(-1)!.pixels + 1;
    lanes.set(row, drawn);
  }
  // The rows of items are followed by one row each for items on the critical path.
  pixels.begin(Math.round(picture.width * ratio), critical ? 2 * n : n);
  const pixel = pixelOf(ink.text);
  for (const [row, drawn] of lanes) {
    const section = sections[row.section];
    for (const one of section ? drawn : []) {
      const roomy = one.height > ROOM_FROM;
      const onPath = critical && roomy ? { row: n + one.pixels, pixel } : null;
      one.marks = marksOfTrack(picture, section!, one.lane, pixels, one.pixels, onPath, roomy);
    }
  }
  pixels.end();
  return { lanes, n };
}

function drawTrack(
  on: Context,
  picture: TimelineScene,
  { items, painted }: DrawnSection,
  { y, height, pixels: at, covers, marks }: DrawnTrack,
  n: number,
): void {
  if (!items || !painted) return;
  const { width, ratio, ink, critical } = picture;
  const toneOf = (item: number) => painted.tones[painted.tone[item]!]!;
  for (let k = 0; k < marks.waits.length; k += 3) {
    const [item, left, right] = [marks.waits[k]!, marks.waits[k + 1]!, marks.waits[k + 2]!];
    on.fillStyle = toneOf(item).dimmed[LEVELS]!;
    on.fillRect(left, y + height * 0.36, right - left, height * 0.28);
  }
  if (covers) pixels.draw(on, at, 0, y, width, covers);
  if (critical && height > ROOM_FROM) pixels.draw(on, n + at, 0, y + height - 2, width, 2);
  const labels: WideItem[] = [];
  for (const one of marks.wide) {
    const tone = toneOf(one.item);
    const inside = one.right - one.left - 1 / ratio;
    on.fillStyle = (one.dim ? tone.dimmed : tone.fills)[one.level]!;
    on.fillRect(one.left, y, inside, height);
    if (one.waiting && inside > 5 && height > ROOM_FROM) {
      on.strokeStyle = one.dim ? tone.dimmed[LEVELS]! : tone.border;
      on.lineWidth = 1;
      on.strokeRect(one.left + 0.5, y + 0.5, inside - 1, height - 1);
    }
    if (critical && !one.dim && height > ROOM_FROM) {
      on.fillStyle = ink.text;
      on.fillRect(one.left, y + height - 2, inside, 2);
    }
    if (one.right - one.left > LABEL_FROM && height > 12) labels.push(one);
  }
  drawLabels(on, picture, items, painted, labels, y, height);
}

/** Draws the scopes of a track at a level, above its slices. */
function drawScopes(on: Context, picture: TimelineScene, { items }: DrawnSection, row: Row, y: number): void {
  if (!items) return;
  const { view, width, ink } = picture;
  const scale = width / spanOf(view);
  const [from, to] = itemsBetween(items, row.of, view.t0, view.t1);
  on.font = `10.5px ${ink.font}`;
  on.textBaseline = 'middle';
  on.textAlign = 'left';
  const letter = on.measureText(LETTERS).width / LETTERS.length;
  for (const run of scopeRuns(items, from, to, row.curve)) {
    const left = Math.max(-2, (run.start - view.t0) * scale);
    const right = Math.min(width + 2, (run.end - view.t0) * scale);
    if (right - left < 1.5) continue;
    on.fillStyle = ink.sunken;
    on.fillRect(left, y + 1, right - left - 1, row.height - 3);
    on.strokeStyle = ink.line;
    on.lineWidth = 1;
    on.strokeRect(left + 0.5, y + 1.5, right - left - 2, row.height - 4);
    const begin = Math.max(left, 0) + 4;
    const own = run.scope.slice(run.scope.lastIndexOf('/') + 1);
    const shown = shortened(safeText(own, 200), Math.floor((right - begin - 3) / letter));
    if (!shown) continue;
    on.fillStyle = ink.soft;
    on.fillText(shown, begin, y + row.height / 2);
  }
}

function drawLabels(
  on: Context,
  { ink, width }: TimelineScene,
  items: TraceItems,
  painted: Painted,
  labels: WideItem[],
  y: number,
  height: number,
): void {
  if (!labels.length) return;
  on.font = `${height > 17 ? 11.5 : 10.5}px ${ink.font}`;
  on.textBaseline = 'middle';
  on.textAlign = 'left';
  const letter = on.measureText(LETTERS).width / LETTERS.length;
  let fill = '';
  for (const { item, left, right, dim } of labels) {
    const begin = Math.max(left, 0) + 4;
    const room = Math.floor((Math.min(right, width) - begin - 2) / letter);
    const shown = shortened(safeText(items.names[items.columns.name[item]!]!, 300), room);
    if (!shown) continue;
    const colour = dim ? ink.faint : painted.tones[painted.tone[item]!]!.text;
    if (colour !== fill) {
      fill = colour;
      on.fillStyle = fill;
    }
    on.fillText(shown, begin, y + height / 2 + 0.5);
  }
}

/** Shortens a node's name from the left, because names differ at their end. */
export function shortened(name: string, room: number): string {
  if (room < 3) return '';
  if (name.length <= room) return name;
  const parts = name.split('/');
  let tail = parts.pop()!;
  while (parts.length && tail.length + parts.at(-1)!.length + 1 <= room) tail = `${parts.pop()}/${tail}`;
  return tail.length <= room ? tail : `${tail.slice(0, room - 1)}…`;
}
