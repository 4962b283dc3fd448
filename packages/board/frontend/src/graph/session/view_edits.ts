/** Actions on a view: each returns the edited view. */
import type { GraphModel } from '../model/graph_model.ts';
import type { ViewState } from '../model/view_state.ts';

/** The item that the camera shows once the next scene is there; `whole` zooms so that all of it is visible. */
export interface LookAt {
  item: number;
  whole: boolean;
}

export interface ViewEdit {
  view: ViewState;
  /** The item that keeps its position on the screen; null: none. */
  anchor: number | null;
  lookAt?: LookAt;
  select?: number;
}

/**
 * Opens or closes a group; ungroups a series.
 *
 * Args:
 *   onlyOne: takes only the next member out of a series.
 * Returns: null if the item has nothing to open.
 */
export function toggled(model: GraphModel, view: ViewState, item: number, onlyOne: boolean): ViewEdit | null {
  if (item >= model.total) {
    return onlyOne ? withNextMember(model, view, item) : ungrouped(model, view, item);
  }
  if (!model.isGroup(item) || item === model.root) return null;
  const open = new Set(view.open);
  if (view.allOpen) {
    // When one group closes, the address names the others as open.
    for (let g = model.root + 1; g < model.total; g++) open.add(g);
    open.delete(item);
    return { view: { ...view, allOpen: false, open }, anchor: item };
  }
  if (open.has(item)) {
    open.delete(item);
    return { view: { ...view, open }, anchor: item, lookAt: { item: model.parent[item]!, whole: false } };
  }
  open.add(item);
  return { view: { ...view, open }, anchor: item, lookAt: { item, whole: false } };
}

function withNextMember(model: GraphModel, view: ViewState, item: number): ViewEdit {
  const next = model.members[item - model.total]!.find((v) => !view.pulled.has(v))!;
  return { view: { ...view, pulled: new Set(view.pulled).add(next) }, anchor: item };
}

function ungrouped(model: GraphModel, view: ViewState, item: number): ViewEdit {
  const series = item - model.total;
  const first = model.members[series]![0]!;
  const pulled = withoutMembers(model, view, series);
  return {
    view: { ...view, pulled, unfolded: new Set(view.unfolded).add(series) },
    anchor: first,
    lookAt: { item: first, whole: false },
    select: first,
  };
}

/** Groups the members of a series into one node again. */
export function grouped(model: GraphModel, view: ViewState, series: number): ViewEdit {
  const unfolded = new Set(view.unfolded);
  unfolded.delete(series);
  const item = model.total + series;
  return {
    view: { ...view, unfolded, pulled: withoutMembers(model, view, series) },
    anchor: null,
    lookAt: { item, whole: false },
    select: item,
  };
}

function withoutMembers(model: GraphModel, view: ViewState, series: number): Set<number> {
  return new Set([...view.pulled].filter((v) => model.series[v] !== series));
}

/** Moves an item to the auxiliary nodes, or back to the main graph. */
export function movedToAuxiliary(view: ViewState, item: number, auxiliary: boolean): ViewEdit {
  return { view: { ...view, moved: new Map(view.moved).set(item, auxiliary) }, anchor: null };
}

export function allCollapsed(model: GraphModel, view: ViewState): ViewEdit {
  return {
    view: { ...view, open: new Set(), unfolded: new Set(), pulled: new Set(), allOpen: false },
    anchor: null,
    lookAt: { item: model.root, whole: true },
  };
}

export function allExpanded(model: GraphModel, view: ViewState): ViewEdit {
  return { view: { ...view, allOpen: true }, anchor: null, lookAt: { item: model.root, whole: true } };
}

export function opHidden(view: ViewState, op: number, hide: boolean): ViewEdit {
  const hidden = new Set(view.hidden);
  if (hide) hidden.add(op);
  else hidden.delete(op);
  return { view: { ...view, hidden }, anchor: null };
}
