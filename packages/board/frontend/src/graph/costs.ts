/** What ops cost in traced steps, and how two graphs differ: what the graph is coloured by. */
import { getColumns, getJson } from '../api/client.ts';
import type { Costs, Difference } from './canvas/paint.ts';
import type { GraphModel } from './model/graph_model.ts';
import type { GraphEntry, Session } from './session.ts';

export interface TraceEntry {
  id: number;
  run: number | string;
  tag: string;
  step: number;
}

export async function tracesOf(entry: GraphEntry): Promise<TraceEntry[]> {
  const all = (await getJson<{ traces: (TraceEntry & { graph?: number | null })[] }>('traces')).traces;
  const own = all.filter((t) => t.run === entry.run || t.graph === entry.id);
  return own.length > 0 ? own : all;
}

export async function loadCosts(session: Session, traces: number[]): Promise<void> {
  const { columns } = await getColumns(`graph/${session.entry.id}/costs`, { traces: traces.join(',') });
  const time = (columns.time_us_median ?? columns.time_us) as Float64Array | undefined;
  const memory = (columns.memory_median ?? columns.memory) as Float64Array | undefined;
  session.costs.value = {
    time: summed(session.model, time ?? new Float64Array(0)),
    memory: summed(session.model, memory ?? new Float64Array(0)),
    traces: traces.length,
  };
}

/** Sums by group; the colour's scale ends at the dearest op or closed group below the root. */
export function summed(model: GraphModel, value: ArrayLike<number>): Costs {
  const total = new Float64Array(model.total).fill(NaN);
  let most = 0;
  for (let v = 0; v < model.ops; v++) {
    const cost = v < value.length ? value[v]! : NaN;
    if (!(cost >= 0)) continue;
    for (let at = v; at >= 0; at = model.parent[at]!) {
      total[at] = Number.isNaN(total[at]!) ? cost : total[at]! + cost;
    }
  }
  for (const child of model.children(model.root)) if (total[child]! > most) most = total[child]!;
  return { value: Float64Array.from(value), total, most: most || 1 };
}

interface DiffReply {
  added: string[];
  removed: string[];
  changed: { name: string; what: string[] }[];
  moved?: { from: string; to: string }[];
  same: number;
}

/** How the shown graph (b) differs from another (a). */
export async function loadDifference(session: Session, other: GraphEntry): Promise<void> {
  const diff = await getJson<DiffReply>('graph/diff', { a: other.id, b: session.entry.id });
  session.difference.value = markDifference(session.model, diff);
}

export function markDifference(
  model: GraphModel,
  diff: Pick<DiffReply, 'added' | 'removed' | 'changed'> & { moved?: DiffReply['moved'] },
): Difference & { removed: string[]; added: number; changed: number } {
  const kind = new Uint8Array(model.total);
  const byName = new Map<string, number>();
  for (let v = 0; v < model.ops; v++) byName.set(model.path(v), v);
  const mark = (name: string, what: number) => {
    const v = byName.get(name);
    if (v !== undefined) kind[v] = what;
  };
  for (const name of diff.added) mark(name, 1);
  for (const { to } of diff.moved ?? []) mark(to, 2);
  for (const { name } of diff.changed) mark(name, 2);
  const below = new Uint8Array(model.total);
  for (let v = 0; v < model.ops; v++) {
    if (kind[v] === 0) continue;
    for (let at = model.parent[v]!; at >= 0; at = model.parent[at]!) below[at]! |= 1 << kind[v]!;
  }
  // What is gone shows at the nearest scope that is still there.
  for (const name of diff.removed) {
    const parts = name.split('/');
    for (let n = parts.length - 1; n > 0; n--) {
      const v = model.find(parts.slice(0, n).join('/'));
      if (v < 0) continue;
      for (let at = v; at >= 0; at = model.parent[at]!) below[at]! |= 1 << 3;
      break;
    }
  }
  for (let v = model.root; v < model.total; v++) {
    if (below[v] === 0) continue;
    const whole = below[v] === 2 && allBelow(model, kind, v, 1);
    kind[v] = whole ? 1 : below[v] === 1 << 3 ? 3 : below[v] === 2 || below[v] === 4 ? 2 : 4;
  }
  return { kind, removed: diff.removed, added: diff.added.length, changed: diff.changed.length };
}

function allBelow(model: GraphModel, kind: Uint8Array, v: number, what: number): boolean {
  for (const op of model.opsBelow(v)) if (kind[op] !== what) return false;
  return true;
}
