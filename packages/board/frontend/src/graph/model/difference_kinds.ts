/** Which kind of difference each vertex shows. */
import type { GraphModel } from './graph_model.ts';

export interface Counts {
  added: number;
  removed: number;
  changed: number;
  moved: number;
}

export const SAME = 0;
export const ADDED = 1;
export const CHANGED = 2;
export const MOVED = 3;
/** Of groups: something below is gone; differences of several kinds below. */
export const REMOVED_BELOW = 4;
export const SEVERAL = 5;

/** How many ops at or below each group differ, by group. */
export type Sums = Record<keyof Counts, ArrayLike<number>>;

/** The kinds of difference to show; groups with removals only, or with several kinds below, have their own kind. */
export function kindsOf(model: GraphModel, kinds: ArrayLike<number>, below: Sums): Uint8Array {
  const kind = Uint8Array.from(kinds);
  for (let v = model.root; v < model.total; v++) {
    if (kind[v] !== CHANGED) continue;
    const g = v - model.ops;
    const some = [below.added[g]!, below.changed[g]!, below.moved[g]!, below.removed[g]!];
    if (some.filter((n) => n > 0).length > 1) kind[v] = SEVERAL;
    else if (some[3]! > 0) kind[v] = REMOVED_BELOW;
  }
  return kind;
}

/** The style of items that stand for several vertices. */
export function joinedKind(kinds: Iterable<number>): number {
  const seen = new Set(kinds);
  if (seen.size === 1) return [...seen][0]!;
  const same = seen.delete(SAME);
  if (seen.size > 1) return SEVERAL;
  const only = [...seen][0]!;
  // A new or moved member is a change of the whole series.
  return same && (only === ADDED || only === MOVED) ? CHANGED : only;
}
