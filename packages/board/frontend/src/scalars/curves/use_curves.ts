/** The curves of a chart: fetched when the settings change, and those of single runs when they grow. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run } from '../../api/types.ts';
import type { RunGroup } from '../../runs/run_groups.ts';
import { seriesByRun } from '../../runs/visible_runs.ts';
import { type CurvePart, tagsOfPart } from '../settings/curve_part.ts';
import { type CurveQuery, cancelCurves, type LoadedCurve, requestCurves } from './curve_loader.ts';
import { type Fetched, outdatedRuns, replaced } from './outdated_runs.ts';
import type { CurveSettings } from './scalar_query.ts';

/** What a chart requests. */
export interface CurveRequest {
  parts: CurvePart[];
  groups: RunGroup[] | null;
  settings: CurveSettings;
  queries: CurveQuery[];
}

/** Curves with their request: they are drawn with the settings that they were fetched for. */
export interface ShownCurves extends CurveRequest {
  lists: LoadedCurve[][];
}

export interface CurvesState {
  /** The newest response; it stays while the next request is in flight, and if that fails. */
  shown: ShownCurves | null;
  error: string | null;
  tryAgain(): void;
}

export function useCurves(request: CurveRequest, runs: Run[]): CurvesState {
  const owner = useRef({}).current;
  const [shown, setShown] = useState<ShownCurves | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  const last = useRef<Fetched | null>(null);
  const { queries, parts } = request;
  const key = JSON.stringify([queries, parts.map((part) => [part.tag.name, part.right])]);

  // How many points each run has of the tags: what changed while the page was open is fetched again.
  const counts = new Map(
    runs.map((run) => {
      const of = seriesByRun.value.get(run.id);
      const n = parts.flatMap(tagsOfPart).reduce((sum, tag) => sum + (of?.get(tag)?.n ?? 0), 0);
      return [run.id, n];
    }),
  );
  const version = [...counts.values()].join();

  useEffect(() => {
    if (runs.length === 0 || queries.length === 0) {
      cancelCurves(owner);
      last.current = null;
      setError(null);
      setShown({ ...request, lists: parts.map(() => []) });
      return;
    }
    const outdated = outdatedRuns(last.current, key, counts);
    if (outdated === 'nothing') {
      // The curves are up to date: a response to an earlier request is no longer needed.
      cancelCurves(owner);
      setError(null);
      return;
    }
    // The curve of a group changes with any of its runs.
    const some = outdated !== 'all' && request.groups === null ? outdated : null;
    const sent = some
      ? queries.map((query) => ({ ...query, runs: query.runs!.filter((run) => some.has(run)) }))
      : queries;
    requestCurves(owner, sent, (lists, failure) => {
      setError(failure);
      if (!lists) return;
      last.current = { queries: key, counts };
      setShown((old) => ({
        ...request,
        lists: some && old ? old.lists.map((list, i) => replaced(list, lists[i] ?? [])) : lists,
      }));
    });
  }, [key, version, attempt]);
  useEffect(() => () => cancelCurves(owner), [owner]);

  const tryAgain = useMemo(() => () => setAttempt((n) => n + 1), []);
  return { shown, error, tryAgain };
}
