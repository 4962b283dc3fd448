/** Which runs' curves a chart has to fetch again. */
import type { LoadedCurve } from './curve_loader.ts';

/** What was fetched last. */
export interface Fetched {
  /** The queries, as JSON. */
  queries: string;
  /** The number of points of each run at that time. */
  counts: ReadonlyMap<number, number>;
}

/** Nothing, every run, or the runs that have more points now. */
export function outdatedRuns(
  last: Fetched | null,
  queries: string,
  counts: ReadonlyMap<number, number>,
): 'nothing' | 'all' | Set<number> {
  if (!last || last.queries !== queries) return 'all';
  const grown = [...counts].filter(([run, n]) => last.counts.get(run) !== n).map(([run]) => run);
  return grown.length === 0 ? 'nothing' : grown.length === counts.size ? 'all' : new Set(grown);
}

/** The curves with those of some runs replaced; curves of new runs come last. */
export function replaced(old: LoadedCurve[], fresh: LoadedCurve[]): LoadedCurve[] {
  const byRun = new Map(fresh.map((curve) => [curve.run, curve]));
  const updated = old.map((curve) => {
    const found = byRun.get(curve.run);
    byRun.delete(curve.run);
    return found ?? curve;
  });
  return [...updated, ...byRun.values()];
}
