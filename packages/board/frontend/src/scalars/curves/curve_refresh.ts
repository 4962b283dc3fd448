/** What a chart has to ask for again, by what it has. */
import type { LoadedCurve } from './curve_loader.ts';

export interface Known {
  /** The queries, as text, that were answered. */
  asked: string;
  /** Points of each run when they were. */
  counts: ReadonlyMap<number, number>;
}

/** Nothing, everything, or the runs that have grown since. */
export function renewal(
  known: Known | null,
  asked: string,
  counts: ReadonlyMap<number, number>,
): 'nothing' | 'all' | Set<number> {
  if (!known || known.asked !== asked) return 'all';
  const grown = [...counts].filter(([run, n]) => known.counts.get(run) !== n).map(([run]) => run);
  return grown.length === 0 ? 'nothing' : grown.length === counts.size ? 'all' : new Set(grown);
}

/** The list with the curves of some runs taken from another; runs that are new come last. */
export function replaced(old: LoadedCurve[], fresh: LoadedCurve[]): LoadedCurve[] {
  const byRun = new Map(fresh.map((curve) => [curve.run, curve]));
  const kept = old.map((curve) => {
    const found = byRun.get(curve.run);
    byRun.delete(curve.run);
    return found ?? curve;
  });
  return [...kept, ...byRun.values()];
}
