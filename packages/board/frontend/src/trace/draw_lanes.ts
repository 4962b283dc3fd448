/** Draws rows of lanes, memory tracks and arrows on a canvas. */
import { safeText } from '../shell/safe_text.ts';
import type { Row } from './rows.ts';
import { laneHeight, laneMiddle } from './rows.ts';
import { bytesText, durationText, rulerTicks } from './ruler_ticks.ts';
import { scopeRuns } from './scope_runs.ts';
import { spanOf, type TimeView } from './time_view.ts';
import type { MemoryCurve, Place, Summary } from './trace_api.ts';
import { type Ink, LEVELS, type Painted } from './trace_colours.ts';
import { edges, itemsBetween, MERGED, RECV, SYNC, type TraceItems, waitFrom } from './trace_items.ts';

export interface DrawnSection {
  trace: number;
  duration: number;
  items: TraceItems | null;
  painted: Painted | null;
  summary: Summary | null;
  memory: MemoryCurve[];
  marked: Place[];
}

export interface LanesPicture {
  width: number;
  height: number;
  scroll: number;
  view: TimeView;
  rows: Row[];
  sections: DrawnSection[];
  ink: Ink;
  critical: boolean;
  arrows: boolean;
  /** Names that a search found; null without a search. */
  found: ReadonlySet<string> | null;
  selected: { trace: number; slice: number; lane: number; start: number; dur: number } | null;
  hovered: { trace: number; item: number } | null;
  area: { trace: number; t0: number; t1: number; lanes: number[] | null } | null;
  mark: { t0: number; t1: number } | null;
  ratio: number;
}

const LABEL_FROM = 34;
/** Letters as names have them, to learn how wide they are. */
const LETTERS = 'MatMul_conv2/weights_grad_Dim';
const MOST_ARROWS = 160;
const MOST_SEEN = 80;
const MOST_LABELS = 6;
/** An arrow shorter than this is a line straight down, and says nothing that the lanes do not. */
const LEAST_ARROW = 10;

type Context = CanvasRenderingContext2D;

export function drawLanes(on: Context, picture: LanesPicture): void {
  const { width, height, ink, scroll, view } = picture;
  on.fillStyle = ink.surface;
  on.fillRect(0, 0, width, height);
  drawGrid(on, picture);
  for (const row of picture.rows) {
    const y = row.y - scroll;
    if (y + row.height < 0 || y > height) continue;
    const section = picture.sections[row.section];
    if (!section) continue;
    if (row.kind === 'section') {
      on.fillStyle = ink.sunken;
      on.fillRect(0, y, width, row.height);
    } else if (row.kind === 'memory') {
      const curve = section.memory[row.curve];
      if (curve) drawMemory(on, picture, curve, y, row.height);
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
  drawEnds(on, picture);
  if (picture.critical) drawHops(on, picture);
  if (picture.arrows) drawArrows(on, picture);
  drawMarkedPlaces(on, picture);
  drawSelection(on, picture);
  if (picture.area) drawArea(on, picture);
  if (picture.mark) drawMark(on, picture, view);
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
    const mine = rows.filter((row) => row.section === s);
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

function drawMemory(on: Context, picture: LanesPicture, curve: MemoryCurve, y: number, height: number): void {
  const { view, width, ink } = picture;
  const { time, bytes } = curve;
  if (!time.length || curve.peak <= 0) return;
  const scale = width / spanOf(view);
  const base = y + height - 3;
  const room = height - 10;
  const at = (value: number) => base - (Math.max(0, value) / curve.peak) * room;
  on.beginPath();
  let last = Math.max(0, (time[0]! - view.t0) * scale);
  on.moveTo(last, base);
  let level = base;
  for (let i = 0; i < time.length; i++) {
    const x = Math.min(width, Math.max(0, (time[i]! - view.t0) * scale));
    on.lineTo(x, level);
    level = at(bytes[i]!);
    on.lineTo(x, level);
    last = x;
  }
  const end = Math.min(width, (Math.max(time.at(-1)!, picture.sections[0]?.duration ?? 0) - view.t0) * scale);
  on.lineTo(Math.max(last, end), level);
  on.lineTo(Math.max(last, end), base);
  on.closePath();
  on.fillStyle = ink.accent;
  on.globalAlpha = 0.16;
  on.fill();
  // Where ups and downs are closer than pixels a line would be a block.
  on.globalAlpha = time.length > width ? 0.25 : 0.85;
  on.strokeStyle = ink.accent;
  on.lineWidth = 1;
  on.stroke();
  on.globalAlpha = 1;
  const peak = (curve.peak_ns - view.t0) * scale;
  if (peak >= 0 && peak <= width) {
    on.fillStyle = ink.accent;
    on.beginPath();
    on.arc(peak, at(curve.peak), 2.5, 0, 7);
    on.fill();
    on.font = `10.5px ${ink.font}`;
    on.textBaseline = 'top';
    const right = peak > width - 90;
    on.textAlign = right ? 'right' : 'left';
    on.fillStyle = ink.soft;
    on.fillText(bytesText(curve.peak), peak + (right ? -6 : 6), y + 3);
  }
}

/** The middle of each lane on the canvas, by section. */
export function middles(picture: Pick<LanesPicture, 'rows' | 'scroll'>, section: number) {
  const known = new Map<number, number | null>();
  return (lane: number): number | null => {
    let y = known.get(lane);
    if (y === undefined) {
      const middle = laneMiddle(picture.rows, section, lane);
      y = middle === null ? null : middle - picture.scroll;
      known.set(lane, y);
    }
    return y;
  };
}

function drawHops(on: Context, picture: LanesPicture): void {
  const { view, width, ink, sections } = picture;
  const scale = width / spanOf(view);
  on.strokeStyle = ink.text;
  on.lineWidth = 1;
  on.globalAlpha = 0.65;
  sections.forEach((section, s) => {
    const middle = middles(picture, s);
    let drawn = 0;
    for (const hop of section.summary?.hops ?? []) {
      const from = (Math.min(hop.from, hop.to_end) - view.t0) * scale;
      const to = (Math.max(hop.to, Math.min(hop.from, hop.to_end)) - view.t0) * scale;
      if (to < 0 || from > width || drawn > MOST_ARROWS) continue;
      const [a, b] = [middle(hop.from_lane), middle(hop.to_lane)];
      if (a === null || b === null) continue;
      on.beginPath();
      on.moveTo(from, a);
      on.lineTo(to, b);
      on.stroke();
      drawn++;
    }
  });
  on.globalAlpha = 1;
}

function drawArrows(on: Context, picture: LanesPicture): void {
  const { view, width, height, ink, sections } = picture;
  const scale = width / spanOf(view);
  sections.forEach((section, s) => {
    const { summary } = section;
    if (!summary) return;
    const middle = middles(picture, s);
    const stalled = new Set(summary.stalls.map((stall) => stall.to.slice));
    const seen = summary.transfers.filter(
      (move) => !stalled.has(move.to_slice) && move.to >= view.t0 && move.from <= view.t1,
    );
    // Many at once say nothing: then only the long waits are drawn.
    const wide = (seen.length > MOST_SEEN ? [] : seen)
      .map((move) => ({ move, long: (move.to - move.from) * scale }))
      .filter(({ long }) => long >= LEAST_ARROW)
      .sort((a, b) => b.long - a.long)
      .slice(0, MOST_ARROWS);
    const crowd = wide.length > 40 ? 0.3 : 0.6;
    for (const { move } of wide) {
      arrow(on, {
        x0: (move.from - view.t0) * scale,
        y0: middle(move.from_lane),
        x1: (move.to - view.t0) * scale,
        y1: middle(move.to_lane),
        colour: ink.soft,
        weight: 1,
        alpha: crowd,
        text: '',
        ink,
        width,
        height,
      });
    }
    let labels = 0;
    for (const stall of summary.stalls.slice(0, 60)) {
      const end = stall.begin + stall.wait_ns;
      if (end < view.t0 || stall.begin > view.t1 || stall.wait_ns * scale < 3) continue;
      const to = middle(stall.to.lane);
      const from = stall.from ? middle(stall.from.lane) : to;
      const left = (stall.begin - view.t0) * scale;
      const right = (end - view.t0) * scale;
      if (to === null) continue;
      on.strokeStyle = ink.error;
      on.lineWidth = 2;
      const bar = to + laneHeight(picture.rows, s, stall.to.lane) / 2 - 2;
      on.beginPath();
      on.moveTo(Math.max(-4, left), bar);
      on.lineTo(Math.min(width + 4, right), bar);
      on.stroke();
      // A busy thread is seen on the lane itself; arrows are for what came from elsewhere.
      if (stall.kind === 'queue') continue;
      const departs = stall.from ? Math.min(stall.from.start + stall.from.dur, end) : stall.begin;
      arrow(on, {
        x0: (departs - view.t0) * scale,
        y0: from,
        x1: right,
        y1: to,
        colour: ink.error,
        weight: 1.75,
        alpha: 1,
        text: labels++ < MOST_LABELS ? `${durationText(stall.wait_ns)} ${stall.kind}` : '',
        ink,
        width,
        height,
      });
    }
  });
}

interface Arrow {
  x0: number;
  y0: number | null;
  x1: number;
  y1: number | null;
  colour: string;
  weight: number;
  alpha: number;
  text: string;
  ink: Ink;
  width: number;
  height: number;
}

function arrow(
  on: Context,
  { x0, y0, x1, y1, colour, weight, alpha, text, ink, width, height }: Arrow,
): void {
  if (y0 === null || y1 === null) return;
  if ((y0 < -60 && y1 < -60) || (y0 > height + 60 && y1 > height + 60)) return;
  const reach = Math.min(60, Math.max(12, Math.abs(x1 - x0) / 2));
  on.globalAlpha = alpha;
  on.strokeStyle = colour;
  on.fillStyle = colour;
  on.lineWidth = weight;
  on.beginPath();
  on.moveTo(x0, y0);
  on.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1, y1);
  on.stroke();
  const head = 3 + weight * 1.6;
  on.beginPath();
  on.moveTo(x1, y1);
  on.lineTo(x1 - head, y1 - head * 0.6);
  on.lineTo(x1 - head, y1 + head * 0.6);
  on.closePath();
  on.fill();
  on.globalAlpha = 1;
  if (!text) return;
  on.font = `600 10.5px ${ink.font}`;
  on.textAlign = 'left';
  on.textBaseline = 'middle';
  const size = on.measureText(text).width;
  const x = Math.max(4, Math.min(x1 + 6, width - size - 6));
  const y = y1 - 13;
  on.fillStyle = ink.surface;
  on.globalAlpha = 0.9;
  on.fillRect(x - 3, y - 7, size + 6, 14);
  on.globalAlpha = 1;
  on.fillStyle = colour;
  on.fillText(text, x, y + 0.5);
}

/** Slices of the node that is selected: a small mark even where they are merged. */
function drawMarkedPlaces(on: Context, picture: LanesPicture): void {
  const { view, width, ink, sections } = picture;
  const scale = width / spanOf(view);
  on.fillStyle = ink.accent;
  sections.forEach((section, s) => {
    const middle = middles(picture, s);
    let last = Number.NEGATIVE_INFINITY;
    for (const place of section.marked) {
      const x = (place.start + place.dur / 2 - view.t0) * scale;
      if (x < -4 || x > width + 4 || x - last < 2) continue;
      const y = middle(place.lane);
      if (y === null) continue;
      last = x;
      const top = y - laneHeight(picture.rows, s, place.lane) / 2;
      on.beginPath();
      on.moveTo(x - 4, top);
      on.lineTo(x + 4, top);
      on.lineTo(x, top + 5);
      on.closePath();
      on.fill();
    }
  });
}

function drawSelection(on: Context, picture: LanesPicture): void {
  const { selected, hovered, sections, view, width, ink } = picture;
  const scale = width / spanOf(view);
  const outline = (section: number, lane: number, start: number, dur: number, weight: number) => {
    const row = picture.rows.find((r) => r.section === section && r.lanes.includes(lane));
    if (!row) return;
    const each = row.height / row.lanes.length;
    const y = row.y - picture.scroll + row.lanes.indexOf(lane) * each;
    const [left, right] = edges(start, dur, view.t0, scale, 2);
    if (right < 0 || left > width) return;
    on.lineWidth = weight;
    const air = each > 14 ? 1.5 : 0.5;
    const x0 = Math.max(-4, left);
    on.strokeRect(x0, y + air, Math.min(width + 4, right) - x0, each - 2 * air);
  };
  if (hovered) {
    const section = sections.findIndex((one) => one.trace === hovered.trace);
    const columns = sections[section]?.items?.columns;
    if (columns && hovered.item < columns.start.length) {
      on.strokeStyle = ink.soft;
      const i = hovered.item;
      outline(section, columns.lane[i]!, columns.start[i]!, columns.dur[i]!, 1);
    }
  }
  if (selected) {
    const section = sections.findIndex((one) => one.trace === selected.trace);
    on.strokeStyle = ink.accent;
    if (section >= 0) outline(section, selected.lane, selected.start, selected.dur, 2);
  }
}

function drawArea(on: Context, picture: LanesPicture): void {
  const { area, view, width, height, ink, rows, scroll, sections } = picture;
  if (!area) return;
  const scale = width / spanOf(view);
  const left = (area.t0 - view.t0) * scale;
  const right = (area.t1 - view.t0) * scale;
  const section = sections.findIndex((one) => one.trace === area.trace);
  const mine = rows.filter(
    (row) =>
      row.section === section &&
      (area.lanes === null || row.lanes.some((lane) => area.lanes!.includes(lane))),
  );
  const top = mine.length ? mine[0]!.y - scroll : 0;
  const last = mine.at(-1);
  const bottom = last ? last.y + last.height - scroll : height;
  on.fillStyle = ink.accent;
  on.globalAlpha = 0.1;
  on.fillRect(left, top, right - left, bottom - top);
  on.globalAlpha = 1;
  on.strokeStyle = ink.accent;
  on.lineWidth = 1;
  on.strokeRect(Math.round(left) + 0.5, top + 0.5, Math.round(right - left) - 1, bottom - top - 1);
}

function drawMark(on: Context, { mark, width, height, ink }: LanesPicture, view: TimeView): void {
  if (!mark) return;
  const scale = width / spanOf(view);
  const left = Math.round((mark.t0 - view.t0) * scale);
  const right = Math.round((mark.t1 - view.t0) * scale);
  on.fillStyle = ink.accent;
  on.globalAlpha = 0.08;
  on.fillRect(left, 0, right - left, height);
  on.globalAlpha = 1;
  on.fillRect(left, 0, 1, height);
  on.fillRect(right, 0, 1, height);
}
