/** What is under the pointer: a row, a time, an item. */
import { signal } from '@preact/signals';
import { itemAt, MERGED } from '../data/trace_items.ts';
import type { TraceModel } from '../data/trace_model.ts';
import { type Row, rowAt, topOf } from '../layout/rows.ts';
import { spanOf, timeAt } from '../layout/time_view.ts';
import { rows, sections, shown, timelineScroll, timelineWidth, timeView } from '../state/trace_state.ts';

/** Where the pointer is in time, for zooming about it, and on the canvas. */
export const pointer: { time: number | null; x: number; y: number; clientX: number; clientY: number } = {
  time: null,
  x: 0,
  y: 0,
  clientX: 0,
  clientY: 0,
};

/** An item as it was when it was found: another cut of the trace may merge it with others. */
export interface Hit {
  trace: number;
  lane: number;
  slice: number;
  start: number;
  dur: number;
  name: string;
  op: string;
  /** How many slices it stands for; of one that is merged. */
  count: number;
  merged: boolean;
  busy: number;
  wait: number;
}

export const hovered = signal<(Hit & { clientX: number; clientY: number }) | null>(null);

export function modelOfSection(section: number): TraceModel | null {
  const trace = sections.peek()[section]?.trace;
  return shown.peek().find((model) => model.id === trace) ?? null;
}

export interface Pointed {
  /** On the canvas. */
  x: number;
  y: number;
  time: number;
  row: Row | null;
}

export function pointedAt(x: number, y: number): Pointed {
  const time = timeAt(timeView.peek(), timelineWidth.peek(), x);
  return { x, y, time, row: rowAt(rows.peek(), y, timelineScroll.peek()) };
}

const SLOP_PX = 3;

/** The item that is pointed at, or within a few pixels of it. */
export function hitAt({ row, y, time }: Pointed): Hit | null {
  if (!row?.lanes.length) return null;
  const model = modelOfSection(row.section);
  const header = model?.header.peek();
  if (!model?.items || !header) return null;
  const within = (y - topOf(row, timelineScroll.peek())) / row.height;
  const lane = row.lanes[Math.min(row.lanes.length - 1, Math.floor(within * row.lanes.length))]!;
  const slop = (SLOP_PX * spanOf(timeView.peek())) / timelineWidth.peek();
  const i = itemAt(model.items, lane, time, slop);
  if (i < 0) return null;
  const { columns, names } = model.items;
  return {
    trace: model.id,
    lane,
    slice: columns.slice[i]!,
    start: columns.start[i]!,
    dur: columns.dur[i]!,
    name: names[columns.name[i]!] ?? '',
    op: header.ops[columns.op[i]!] ?? '',
    count: columns.count[i]!,
    merged: columns.kind[i] === MERGED,
    busy: columns.busy[i]!,
    wait: columns.wait[i]!,
  };
}

/** Reports what is under the pointer, after the pointer or the picture moved. */
export function updateHover(): void {
  if (pointer.time === null) return;
  const at = pointedAt(pointer.x, pointer.y);
  pointer.time = at.time;
  const hit = hitAt(at);
  const now = hovered.peek();
  if (!hit) {
    if (now) hovered.value = null;
    return;
  }
  const { clientX, clientY } = pointer;
  const same =
    now !== null &&
    now.clientX === clientX &&
    now.clientY === clientY &&
    now.trace === hit.trace &&
    now.lane === hit.lane &&
    now.slice === hit.slice &&
    now.start === hit.start &&
    now.dur === hit.dur;
  if (!same) hovered.value = { ...hit, clientX, clientY };
}
