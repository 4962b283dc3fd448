/** Draws rows of lanes, of scopes and of memory on a canvas; others draw what lies over them. */
import { safeText } from '../shell/safe_text.ts';
import { drawArrows, drawHops, type LeftOut, NONE_LEFT_OUT } from './draw_arrows.ts';
import { drawMemory } from './draw_memory.ts';
import { drawArea, drawMark, drawMarkedPlaces, drawSelection } from './draw_selection.ts';
import type { Context, DrawnSection, LanesPicture } from './lanes_picture.ts';
import { pinnedHeight, type Row, topOf } from './rows.ts';
import { rulerTicks } from './ruler_ticks.ts';
import { scopeRuns } from './scope_runs.ts';
import { spanOf } from './time_view.ts';
import { LEVELS, type Painted } from './trace_colours.ts';
import { edges, itemsBetween, MERGED, RECV, SYNC, type TraceItems, waitFrom } from './trace_items.ts';

const LABEL_FROM = 34;
/** Letters as names have them, to learn how wide they are. */
const LETTERS = 'MatMul_conv2/weights_grad_Dim';

/** Draws all of the picture. Returns: what of it was left out for being too much to see. */
export function drawLanes(on: Context, picture: LanesPicture): LeftOut {
  const { width, height, ink, view } = picture;
  on.fillStyle = ink.surface;
  on.fillRect(0, 0, width, height);
  drawGrid(on, picture);
  const pinned = pinnedHeight(picture.rows);
  if (pinned > 0) clipped(on, pinned, height, width, () => drawRows(on, picture, false));
  else drawRows(on, picture, false);
  drawEnds(on, picture);
  if (pinned > 0) {
    on.fillStyle = ink.surface;
    on.fillRect(0, 0, width, pinned);
    clipped(on, 0, pinned, width, () => {
      drawGrid(on, picture);
      drawRows(on, picture, true);
    });
    on.fillStyle = ink.strong;
    on.fillRect(0, pinned - 1, width, 1);
  }
  if (picture.critical) drawHops(on, picture);
  const arrows = picture.arrows ? drawArrows(on, picture) : NONE_LEFT_OUT;
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

function drawRows(on: Context, picture: LanesPicture, pinned: boolean): void {
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
    } else if (row.lanes.length) {
      const each = row.height / row.lanes.length;
      row.lanes.forEach((lane, k) => {
        const air = each > 14 ? 2 : each > 4 ? 1 : 0;
        drawLane(on, picture, section, lane, y + k * each + air, each - 2 * air);
      });
    }
    on.fillStyle = ink.grid;
    on.fillRect(0, y + row.height - 1, width, 1);
  }
}

function drawGrid(on: Context, { width, height, view, ink }: LanesPicture): void {
  on.fillStyle = ink.grid;
  const scale = width / spanOf(view);
  for (const { time } of rulerTicks(view.t0, view.t1, width)) {
    on.fillRect(Math.round((time - view.t0) * scale), 0, 1, height);
  }
}

/** What is before and after the step is not part of it. */
function drawEnds(on: Context, picture: LanesPicture): void {
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

function drawLane(
  on: Context,
  picture: LanesPicture,
  section: DrawnSection,
  lane: number,
  y: number,
  height: number,
): void {
  const { items, painted } = section;
  if (!items || !painted) return;
  const { view, width, ratio, ink, critical, found } = picture;
  const scale = width / spanOf(view);
  const { start, dur, kind, busy, wait, critical: onPath, name } = items.columns;
  const [from, to] = itemsBetween(items, lane, view.t0, view.t1);
  const snap = (x: number) => Math.round(x * ratio) / ratio;
  const pixel = 1 / ratio;
  const waits = height > 8;
  let fill = '';
  let done = -1;
  const labels: number[] = [];
  for (let i = from; i < to; i++) {
    let [left, right] = edges(start[i]!, dur[i]!, view.t0, scale, pixel);
    left = Math.max(-1, snap(left));
    right = Math.min(width + 1, snap(right));
    if (right <= done) continue;
    if (left < done) left = done;
    if (right - left < pixel) right = left + pixel;
    const tone = painted.tones[painted.tone[i]!]!;
    const merged = kind[i] === MERGED;
    const waiting = kind[i] === RECV || kind[i] === SYNC;
    const level = merged ? Math.round(busy[i]! * LEVELS) : waiting ? 2 : LEVELS;
    const dim = (critical && onPath[i]! < 0.25) || (found !== null && !found.has(items.names[name[i]!]!));
    const wanted = (dim ? tone.dimmed : tone.fills)[level]!;
    if (wait[i]! > 0 && waits && !merged) {
      const before = i > from ? start[i - 1]! + dur[i - 1]! : -Number.MAX_VALUE;
      const begin = Math.max(-1, (waitFrom(start[i]!, wait[i]!, before) - view.t0) * scale);
      if (left - begin > 2) {
        on.fillStyle = tone.dimmed[LEVELS]!;
        fill = '';
        on.fillRect(begin, y + height * 0.36, left - begin, height * 0.28);
      }
    }
    if (wanted !== fill) {
      fill = wanted;
      on.fillStyle = fill;
    }
    const gap = right - left > 3 && !merged ? pixel : 0;
    on.fillRect(left, y, right - left - gap, height);
    if (waiting && right - left > 6 && height > 8) {
      on.strokeStyle = dim ? tone.dimmed[LEVELS]! : tone.border;
      on.lineWidth = 1;
      on.strokeRect(left + 0.5, y + 0.5, right - left - gap - 1, height - 1);
    }
    if (critical && !dim && height > 8) {
      on.fillStyle = ink.text;
      fill = '';
      on.fillRect(left, y + height - 2, right - left - gap, 2);
    }
    if (!merged && right - left > LABEL_FROM && height > 12) labels.push(i, left, right, dim ? 1 : 0);
    done = right;
  }
  drawLabels(on, picture, items, painted, labels, y, height);
}

/** The scopes of a lane at a level, above its slices. */
function drawScopes(on: Context, picture: LanesPicture, { items }: DrawnSection, row: Row, y: number): void {
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
  { ink, width }: LanesPicture,
  items: TraceItems,
  painted: Painted,
  labels: number[],
  y: number,
  height: number,
): void {
  if (!labels.length) return;
  on.font = `${height > 17 ? 11.5 : 10.5}px ${ink.font}`;
  on.textBaseline = 'middle';
  on.textAlign = 'left';
  const letter = on.measureText(LETTERS).width / LETTERS.length;
  let fill = '';
  for (let k = 0; k < labels.length; k += 4) {
    const [i, left, right, dim] = [labels[k]!, labels[k + 1]!, labels[k + 2]!, labels[k + 3]!];
    const begin = Math.max(left, 0) + 4;
    const room = Math.floor((Math.min(right, width) - begin - 2) / letter);
    const shown = shortened(safeText(items.names[items.columns.name[i]!]!, 300), room);
    if (!shown) continue;
    const wanted = dim ? ink.faint : painted.tones[painted.tone[i]!]!.text;
    if (wanted !== fill) {
      fill = wanted;
      on.fillStyle = fill;
    }
    on.fillText(shown, begin, y + height / 2 + 0.5);
  }
}

/** As much of a node's name as fits, from its end: that is what differs. */
export function shortened(name: string, room: number): string {
  if (room < 3) return '';
  if (name.length <= room) return name;
  const parts = name.split('/');
  let tail = parts.pop()!;
  while (parts.length && tail.length + parts.at(-1)!.length + 1 <= room) tail = `${parts.pop()}/${tail}`;
  return tail.length <= room ? tail : `${tail.slice(0, room - 1)}…`;
}
