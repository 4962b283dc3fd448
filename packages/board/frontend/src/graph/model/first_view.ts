/** The view in which a graph appears: a group that is nearly all of it is open. */
import type { GraphModel } from './graph_model.ts';
import { CLOSED, isAuxiliary, itemOf, type ViewState } from './view_state.ts';

/** The share of ops, auxiliary nodes aside, that makes a group dominant. */
const DOMINANT = 0.75;
/** A group beside others opens if it holds at most this many items, one of them a series. */
const SHORT_STACK = 3;
const MOST_ITEMS = 40;

const known = new WeakMap<GraphModel, ViewState>();

export function firstView(model: GraphModel): ViewState {
  let view = known.get(model);
  if (!view) {
    const open = dominantGroups(model);
    view = open.size === 0 ? CLOSED : { ...CLOSED, open };
    known.set(model, view);
  }
  return view;
}

/** The items of a group in the main graph, when all groups are closed. */
function mainItems(model: GraphModel, group: number): Set<number> {
  const items = new Set<number>();
  for (const v of model.children(group)) {
    const item = itemOf(model, CLOSED, v);
    if (!isAuxiliary(model, CLOSED, item)) items.add(item);
  }
  return items;
}

function sizeOf(model: GraphModel, item: number): number {
  if (item < model.total) return model.size[item]!;
  return model.members[item - model.total]!.reduce((sum, v) => sum + model.size[v]!, 0);
}

/** The group that is nearly all of the graph, what is the same within it, and short stacks in the last. */
function dominantGroups(model: GraphModel): Set<number> {
  const open = new Set<number>();
  let items = mainItems(model, model.root);
  for (;;) {
    let all = 0;
    for (const item of items) all += sizeOf(model, item);
    const lone = [...items].find(
      (item) => model.isGroup(item) && model.size[item]! >= DOMINANT * all && model.size[item]! > 1,
    );
    if (lone === undefined) break;
    open.add(lone);
    items = mainItems(model, lone);
  }
  if (open.size === 0) return open;
  let shown = items.size;
  for (const item of items) {
    if (!model.isGroup(item)) continue;
    const inner = mainItems(model, item);
    const stack = [...inner].some((i) => i >= model.total);
    if (!stack || inner.size > SHORT_STACK || shown + inner.size > MOST_ITEMS) continue;
    open.add(item);
    shown += inner.size;
  }
  return open;
}
