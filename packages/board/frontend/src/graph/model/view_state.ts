/** The state of a view: opened, ungrouped, moved and hidden items; and its short form for the address. */
import type { GraphModel } from './graph_model.ts';
import { AUXILIARY } from './graph_model.ts';

export interface ViewState {
  /** Opened groups; the root is always open. */
  open: ReadonlySet<number>;
  /** Series shown member by member. */
  unfolded: ReadonlySet<number>;
  /** Members shown beside what is left of their series. */
  pulled: ReadonlySet<number>;
  /** Where the reader wants an item: true among the auxiliary nodes, false in the main graph. */
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

/** Returns: the item that shows a vertex: itself, or its series (total + index of the series); -1 if hidden. */
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

/** The vertices that an item stands for: itself, or the members that are left in a series. */
export function verticesOf(model: GraphModel, pulled: ReadonlySet<number>, item: number): readonly number[] {
  if (item < model.total) return [item];
  const members = model.members[item - model.total]!;
  return pulled.size === 0 ? members : members.filter((v) => !pulled.has(v));
}

/** Whether an item is an auxiliary node of its group. */
export function isAuxiliary(model: GraphModel, view: ViewState, item: number): boolean {
  const moved = view.moved.get(item);
  if (moved !== undefined) return moved;
  if (item < model.total) return model.auxiliary[item] === AUXILIARY;
  return model.members[item - model.total]!.every((v) => model.auxiliary[v] === AUXILIARY);
}

export function isOpen(model: GraphModel, view: ViewState, item: number): boolean {
  return model.isGroup(item) && (item === model.root || view.allOpen || view.open.has(item));
}

/** Opens all groups around an item, and takes a member out of its series. */
export function reveal(model: GraphModel, view: ViewState, item: number): ViewState {
  const open = new Set(view.open);
  const pulled = new Set(view.pulled);
  const hidden = new Set(view.hidden);
  if (item < model.ops) hidden.delete(model.op[item]!);
  // A series shows when its parent is open.
  let child = item;
  if (item >= model.total) {
    child = model.header.series[item - model.total]!.parent;
    if (child !== model.root) open.add(child);
  }
  for (const group of [...model.ancestors(child)].reverse()) {
    if (group !== model.root) open.add(group);
    if (itemOf(model, view, child) >= model.total) pulled.add(child);
    child = group;
  }
  return { ...view, open, pulled: pulled.size > view.pulled.size ? pulled : view.pulled, hidden };
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

/** A short checksum of a graph's key, because a view is valid for that graph only. */
function keySum(key: string): string {
  let sum = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) sum = Math.imul(sum ^ key.charCodeAt(i), 0x01000193);
  return (sum >>> 0).toString(36);
}

/** The view as text. Entries that do not fit are left out: inner groups first, then later entries. */
export function encodeView(model: GraphModel, key: string, view: ViewState): string {
  const toSide: number[] = [];
  const toMain: number[] = [];
  for (const [item, side] of view.moved) (side ? toSide : toMain).push(item);
  const shown = [...view.open].filter(
    (g) => view.open.has(model.parent[g]!) || model.parent[g] === model.root,
  );
  const depth = (g: number) => model.depth[g + model.root]!;
  const open = shown.map((g) => g - model.root).sort((a, b) => depth(a) - depth(b) || a - b);
  const first = `${model.total.toString(36)}-${keySum(key)}`;
  // Each list is shortened from its end.
  const lists = [open, [...view.unfolded], [...view.pulled], toSide, toMain, [...view.hidden]];
  const text = () => {
    const parts = [first, ...lists.map(pack)];
    if (view.allOpen) parts[1] = '~';
    while (parts.length > 1 && parts[parts.length - 1] === '') parts.pop();
    return parts.length === 1 ? '' : parts.join('!');
  };
  for (const i of [0, 2, 1, 3, 4, 5]) {
    const all = lists[i]!;
    if (text().length <= MOST) break;
    let fits = 0;
    let most = all.length;
    while (fits < most) {
      const half = (fits + most + 1) >> 1;
      lists[i] = all.slice(0, half);
      if (text().length <= MOST) fits = half;
      else most = half - 1;
    }
    lists[i] = all.slice(0, fits);
  }
  return text();
}

/** The view of a text; null if it belongs to another graph. Older texts have only the graph's size. */
export function decodeView(model: GraphModel, key: string, text: string): ViewState | null {
  if (text === '') return CLOSED;
  const [first = '', open = '', unfolded = '', pulled = '', side = '', main = '', hidden = ''] =
    text.split('!');
  const [size = '', sum] = first.split('-');
  if (Number.parseInt(size, 36) !== model.total || (sum !== undefined && sum !== keySum(key))) return null;
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
