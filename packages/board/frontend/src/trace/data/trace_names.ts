/** The names of traces, kept for those that were asked for last: searches and selections use them. */
import { fetchNames, type TraceNames } from './trace_api.ts';

const KEPT = 2;
const kept = new Map<number, Promise<TraceNames>>();

export function namesOf(trace: number): Promise<TraceNames> {
  const known = kept.get(trace);
  if (known) return known;
  const coming = fetchNames(trace);
  kept.set(trace, coming);
  coming.catch(() => kept.delete(trace)); // to be asked for again; who asked now hears of it
  for (const old of kept.keys()) {
    if (kept.size <= KEPT) break;
    kept.delete(old);
  }
  return coming;
}
