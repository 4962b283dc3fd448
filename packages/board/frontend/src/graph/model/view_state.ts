/** What a reader has opened, unfolded, moved and hidden, and its short form for the address. */
import type { GraphModel } from './graph_model.ts';
import { SIDE } from './graph_model.ts';

export interface ViewState {
  /** Opened groups; the root is always open. */
  open: ReadonlySet<number>;
  /** Series shown member by member. */
  unfolded: ReadonlySet<number>;
  /** Members shown beside what is left of their stack. */
  pulled: ReadonlySet<number>;
  /** Where the reader wants an item: true in the side area, false in the main one. */
  moved: ReadonlyMap<number, boolean>;
  /** Op kinds (indices) that are not shown. */
  hidden: ReadonlySet<number>;
  allOpen: boolean;
}

export const CLOSED: ViewState = {
  open: new Set(),
  unfolded: new Set(),
  pulled: new Set(),
  moved: new Map(),
  hidden: new Set(),
  allOpen: false,
};

/** Items are vertices, or stacks: total + number of the series. */
export function itemOf(model: GraphModel, view: ViewState, v: number): number {
  if (v < model.ops && view.hidden.has(model.op[v]!)) return -1;
  const s = model.series[v]!;
  if (s < 0 || view.allOpen || view.unfolded.has(s) || view.pulled.has(v)) return v;
  const members = model.members[s]!;
  if (members.length < 2) return v;
  if (view.pulled.size > 0) {
    let left = 0;
    for (const m of members) if (!view.pulled.has(m)) left++;
    if (left < 2) return v;
  }
  return model.total + s;
}

/** Members that a stack stands for now. */
export function stackMembers(model: GraphModel, view: ViewState, item: number): number[] {
  return model.members[item - model.total]!.filter((v) => !view.pulled.has(v));
}

/** Whether an item stands in the side area of its group. */
export function isSide(model: GraphModel, view: ViewState, item: number): boolean {
  const moved = view.moved.get(item);
  if (moved !== undefined) return moved;
  if (item < model.total) return model.side[item] === SIDE;
  return model.members[item - model.total]!.every((v) => model.side[v] === SIDE);
}

export function isOpen(model: GraphModel, view: ViewState, item: number): boolean {
  return model.isGroup(item) && (item === model.root || view.allOpen || view.open.has(item));
}

/** Opens all that hides v. */
export function reveal(model: GraphModel, view: ViewState, v: number): ViewState {
  const open = new Set(view.open);
  const pulled = new Set(view.pulled);
  const hidden = new Set(view.hidden);
  if (v < model.ops) hidden.delete(model.op[v]!);
  let child = v;
  for (const group of [...model.ancestors(v)].reverse()) {
    if (group !== model.root) open.add(group);
    if (itemOf(model, view, child) >= model.total) pulled.add(child);
    child = group;
  }
  return { ...view, open, pulled, hidden };
}

/** The first item on the way down to v that is shown closed: v itself, a group, or a stack. */
export function shownItem(model: GraphModel, view: ViewState, v: number): number {
  for (const group of [...model.ancestors(v), v].slice(1)) {
    const item = itemOf(model, view, group);
    if (item < 0 || item >= model.total || !isOpen(model, view, item)) return item;
  }
  return v;
}

// The address: sorted numbers as differences in base 36, runs of ones as "*count".
function pack(numbers: Iterable<number>): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts: string[] = [];
  let before = -1;
  let run = 0;
  const flush = () => {
    if (run > 0) parts.push(run === 1 ? '1' : `*${run.toString(36)}`);
    run = 0;
  };
  for (const n of sorted) {
    const step = n - before;
    before = n;
    if (step === 1) run++;
    else {
      flush();
      parts.push(step.toString(36));
    }
  }
  flush();
  return parts.join('.');
}

function unpack(text: string, limit: number): number[] {
  const found: number[] = [];
  let at = -1;
  for (const part of text === '' ? [] : text.split('.')) {
    const run = part.startsWith('*');
    const value = Number.parseInt(run ? part.slice(1) : part, 36);
    if (!(value > 0) || value > limit) return [];
    for (let i = 0; i < (run ? value : 1); i++) {
      at += run ? 1 : value;
      if (at < limit) found.push(at);
    }
  }
  return found;
}

const MOST = 1400; // characters of the address that a view may take

/** The view as text; numbers only mean something for a graph of the same size, so its size comes first. */
export function encodeView(model: GraphModel, view: ViewState): string {
  const toSide: number[] = [];
  const toMain: number[] = [];
  for (const [item, side] of view.moved) (side ? toSide : toMain).push(item);
  // Inner groups go first when there are too many: the reader then sees the outer ones as they were.
  let open = [...view.open].filter((g) => view.open.has(model.parent[g]!) || model.parent[g] === model.root);
  for (;;) {
    const parts = [
      model.total.toString(36),
      view.allOpen ? '~' : pack(open.map((g) => g - model.root)),
      pack(view.unfolded),
      pack(view.pulled),
      pack(toSide),
      pack(toMain),
      pack(view.hidden),
    ];
    while (parts.length > 1 && parts[parts.length - 1] === '') parts.pop();
    if (parts.length === 1) return '';
    const text = parts.join('!');
    if (text.length <= MOST || open.length === 0) return text.slice(0, MOST);
    const deepest = Math.max(...open.map((g) => model.depth[g]!));
    const kept = open.filter((g) => model.depth[g]! < deepest);
    open = kept.length > 0 ? kept : open.slice(0, Math.floor(open.length / 2));
  }
}

export function decodeView(model: GraphModel, text: string): ViewState {
  const [size, open = '', unfolded = '', pulled = '', side = '', main = '', hidden = ''] = text.split('!');
  if (!size || Number.parseInt(size, 36) !== model.total) return CLOSED;
  const items = model.total + model.members.length;
  return {
    allOpen: open === '~',
    open: new Set(open === '~' ? [] : unpack(open, model.total - model.root).map((g) => g + model.root)),
    unfolded: new Set(unpack(unfolded, model.members.length)),
    pulled: new Set(unpack(pulled, model.total)),
    moved: new Map([
      ...unpack(side, items).map((v) => [v, true] as const),
      ...unpack(main, items).map((v) => [v, false] as const),
    ]),
    hidden: new Set(unpack(hidden, model.header.strings.ops.length)),
  };
}
