/** What a search through all steps of some runs found. */
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../api/error_message.ts';
import type { Run } from '../api/types.ts';
import { RunName } from '../runs/run_name.tsx';
import { safeText } from '../strings/safe_text.ts';
import { TextBody } from './text_body.tsx';
import { type Search, searchTexts } from './text_rows.ts';
import { describeHits } from './text_search.ts';

const SEARCH_AFTER_MS = 250;

interface HitsProps {
  search: string;
  tag: number;
  runs: Run[];
  onStep: (step: number) => void;
}

export function TextHits({ search, tag, runs, onStep }: HitsProps) {
  const [found, set] = useState<({ run: Run } & Search)[] | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const ids = runs.map((run) => run.id).join();
  useEffect(() => {
    const stop = new AbortController();
    set(null);
    setFailure(null);
    const timer = setTimeout(() => {
      Promise.all(
        runs.map(async (run) => ({ run, ...(await searchTexts(run.id, tag, search, stop.signal)) })),
      ).then(set, (error) => {
        if (!stop.signal.aborted) setFailure(messageOf(error));
      });
    }, SEARCH_AFTER_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [search, tag, ids]);
  if (failure !== null) {
    return (
      <p class="card-note" role="alert">
        The search failed: {safeText(failure, 200)}
      </p>
    );
  }
  if (!found) return <p class="faint">Searching…</p>;
  return (
    <>
      <p class="faint" role="status">
        {describeHits(found)}
      </p>
      {found.flatMap(({ run, rows }) =>
        rows.map((row) => (
          <section class="run-text" key={`${run.id} ${row.row}`}>
            <div class="run-text-title">
              <RunName run={run} />{' '}
              <button type="button" class="link" onClick={() => onStep(row.step)}>
                step {row.step}
              </button>
            </div>
            <TextBody values={row.values} shape={row.shape} mode="plain" search={search} />
          </section>
        )),
      )}
    </>
  );
}
