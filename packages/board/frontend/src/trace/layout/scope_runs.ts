/** Runs of consecutive slices of one scope: the layers of a step in order of time. */
import type { TraceItems } from '../data/trace_items.ts';

export interface ScopeRun {
  scope: string;
  start: number;
  end: number;
}

/** How many levels of scopes have a row. */
export const SCOPE_LEVELS = 2;

/** The last part of a node's scope at a level; "" without one. */
export function scopeAt(node: string, level: number): string {
  const parts = node.split('/');
  if (level >= parts.length - 1) return '';
  const part = parts[level]!;
  return level > 0 && parts[0] === 'gradients' ? part.replace(/_grad$/, '') : part;
}

const kept = new WeakMap<TraceItems, Map<number, string[]>>();

/** The scopes of all names at a level, below the first one with their parent: equal names differ there. */
function scopesOf(items: TraceItems, level: number): string[] {
  let levels = kept.get(items);
  if (!levels) {
    levels = new Map();
    kept.set(items, levels);
  }
  let scopes = levels.get(level);
  if (!scopes) {
    scopes = items.names.map((name) => {
      const own = scopeAt(name, level);
      return own && level > 0 ? `${scopeAt(name, level - 1)}/${own}` : own;
    });
    levels.set(level, scopes);
  }
  return scopes;
}

/** The runs of items [from, to); an item without a scope at that level ends a run. */
export function scopeRuns(items: TraceItems, from: number, to: number, level: number): ScopeRun[] {
  const scopes = scopesOf(items, level);
  const { start, dur, name } = items.columns;
  const runs: ScopeRun[] = [];
  let open: ScopeRun | null = null;
  for (let i = from; i < to; i++) {
    const scope = scopes[name[i]!]!;
    const end = start[i]! + dur[i]!;
    if (open && open.scope === scope) open.end = end;
    else if (scope) {
      open = { scope, start: start[i]!, end };
      runs.push(open);
    } else open = null;
  }
  return runs;
}
