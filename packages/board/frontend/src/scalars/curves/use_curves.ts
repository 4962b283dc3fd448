/** The curves of a chart: asked for when the settings change, and of single runs when those grow. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run } from '../../api/types.ts';
import type { RunGroup } from '../../runs/run_groups.ts';
import { seriesByRun } from '../../runs/visible_runs.ts';
import { type CurvePart, tagsOfPart } from '../settings/curve_part.ts';
import { type CurveQuery, cancelCurves, type LoadedCurve, requestCurves } from './curve_loader.ts';
import { type Known, renewal, replaced } from './curve_refresh.ts';
import type { CurveSettings } from './scalar_query.ts';

/** What curves are asked for. */
export interface CurveWish {
  parts: CurvePart[];
  groups: RunGroup[] | null;
  settings: CurveSettings;
  queries: CurveQuery[];
}

/** Curves with what they were asked for: they are drawn under the settings that they were made with. */
export interface ShownCurves extends CurveWish {
  lists: LoadedCurve[][];
}

export interface CurvesState {
  /** The newest that came; it stays while others are fetched, and if that fails. */
  shown: ShownCurves | null;
  error: string | null;
  tryAgain(): void;
}

export function useCurves(wish: CurveWish, runs: Run[]): CurvesState {
  const owner = useRef({}).current;
  const [shown, setShown] = useState<ShownCurves | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  const known = useRef<Known | null>(null);
  const { queries, parts } = wish;
  const asked = JSON.stringify([queries, parts.map((part) => [part.tag.name, part.right])]);

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
      known.current = null;
      setError(null);
      setShown({ ...wish, lists: parts.map(() => []) });
      return;
    }
    const wanted = renewal(known.current, asked, counts);
    if (wanted === 'nothing') {
      // What is shown is what is wanted: an answer to anything else would come too late.
      cancelCurves(owner);
      setError(null);
      return;
    }
    // The curve of a group changes with any of its runs.
    const some = wanted !== 'all' && wish.groups === null ? wanted : null;
    const sent = some
      ? queries.map((query) => ({ ...query, runs: query.runs!.filter((run) => some.has(run)) }))
      : queries;
    requestCurves(owner, sent, (lists, wrong) => {
      setError(wrong);
      if (!lists) return;
      known.current = { asked, counts };
      setShown((old) => ({
        ...wish,
        lists: some && old ? old.lists.map((list, i) => replaced(list, lists[i] ?? [])) : lists,
      }));
    });
  }, [asked, version, attempt]);
  useEffect(() => () => cancelCurves(owner), [owner]);

  const tryAgain = useMemo(() => () => setAttempt((n) => n + 1), []);
  return { shown, error, tryAgain };
}
