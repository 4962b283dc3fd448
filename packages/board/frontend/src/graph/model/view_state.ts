/** The state of a view: opened, ungrouped, moved and hidden items. */
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
