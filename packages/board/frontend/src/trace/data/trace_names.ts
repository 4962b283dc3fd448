/** A cache of the names of the last used traces, for searches and selections. */
import { fetchNames, type TraceNames } from './trace_api.ts';

const KEPT = 2;
const kept = new Map<number, Promise<TraceNames>>();

export function namesOf(trace: number): Promise<TraceNames> {
  const known = kept.get(trace);
  if (known) return known;
  const coming = fetchNames(trace);
  kept.set(trace, coming);
  coming.catch(() => kept.delete(trace)); // so that a later call tries again; this caller gets the error
  for (const old of kept.keys()) {
    if (kept.size <= KEPT) break;
    kept.delete(old);
  }
  return coming;
}
