/** The short form of a view for the address. */
import { firstView } from './first_view.ts';
import type { GraphModel } from './graph_model.ts';
import type { ViewState } from './view_state.ts';

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

/** The view as text, "" for the first view of the graph. Entries that do not fit are left out: inner groups first, then later entries. */
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
  if (sameView(view, firstView(model))) return '';
  const text = () => {
    const parts = [first, ...lists.map(pack)];
    if (view.allOpen) parts[1] = '~';
    while (parts.length > 1 && parts[parts.length - 1] === '') parts.pop();
    return parts.join('!');
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
  if (text === '') return firstView(model);
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

function sameView(a: ViewState, b: ViewState): boolean {
  return (
    a.allOpen === b.allOpen &&
    same(a.open, b.open) &&
    same(a.unfolded, b.unfolded) &&
    same(a.pulled, b.pulled) &&
    same(a.hidden, b.hidden) &&
    a.moved.size + b.moved.size === 0
  );
}

function same(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  return a.size === b.size && [...a].every((v) => b.has(v));
}
