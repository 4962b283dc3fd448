/** Tags that are NaN or infinite somewhere, with the first such step of each run. */

import { computed } from '@preact/signals';
import { goTo } from '../address/url_state.ts';
import type { Problem, Run } from '../api/types.ts';
import { tagFilter } from '../metrics/grid/grid_address.ts';
import { RunName } from '../runs/run_name.tsx';
import { problems, runById, tagById } from '../state/catalogue.ts';
import { stepCursor } from '../state/selection.ts';
import { loading } from '../state/server.ts';
import { safeText } from '../strings/safe_text.ts';
import { count } from '../units/numbers.ts';
import { notFinite } from './problem_kinds.ts';
import { onlyRun } from './problems_view.ts';

interface Watched {
  tag: string;
  kind: 'nan' | 'infinite';
  step: number;
  run: string;
  problem: Problem;
}

const MOST_ROWS = 1000;

/** The earliest first: what went wrong before the rest did is often its cause. */
export const watched = computed(() =>
  problems.value
    .flatMap((problem): Watched[] => {
      const bad = notFinite(problem);
      const run = problem.run === null ? undefined : runById.value.get(problem.run);
      const tag = bad && tagById.value.get(bad.tag);
      return bad && tag ? [{ ...bad, tag: tag.name, run: run?.name ?? '', problem }] : [];
    })
    .sort((a, b) => a.step - b.step || a.problem.id - b.problem.id),
);

/** Opens the Metrics page at the first bad step of a tag. */
export function jumpTo(tag: string, step: number): void {
  tagFilter.value = `^${tag.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
  stepCursor.value = step;
  goTo('metrics');
}

export function WatchList() {
  const list = watched.value.filter(({ run }) => onlyRun.value === '' || run === onlyRun.value);
  return (
    <aside class="watch-list" aria-label="NaN and infinite values">
      <h2>NaN and infinite values</h2>
      {list.length === 0 ? (
        <p class="faint">{loading.value ? 'None so far.' : 'All values of all curves are finite.'}</p>
      ) : (
        <>
          <p class="faint">Earliest first: what fails before everything else is often the cause.</p>
          <ul>
            {list.slice(0, MOST_ROWS).map(({ tag, kind, step, problem }) => {
              const run: Run | undefined = problem.run === null ? undefined : runById.value.get(problem.run);
              return (
                <li key={problem.id}>
                  <button type="button" onClick={() => jumpTo(tag, step)} title="Show it on its chart">
                    <span class="watch-tag">{safeText(tag, 120)}</span>
                    <span class={`watch-kind ${kind}`}>{kind === 'nan' ? 'NaN' : '±∞'}</span>
                    <span class="watch-run">{run && <RunName run={run} />}</span>
                    <span class="watch-step">
                      step {step}
                      {problem.count > 1 && <span class="faint"> · {problem.count}×</span>}
                    </span>
                  </button>
                </li>
              );
            })}
          </ul>
          {list.length > MOST_ROWS && (
            <p class="faint">
              The first {count(MOST_ROWS)} of {count(list.length)}.
            </p>
          )}
        </>
      )}
    </aside>
  );
}
