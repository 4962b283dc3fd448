/** The Problems page: what is wrong with the logs, where, and what it cost. */

import { useEffect } from 'preact/hooks';
import { getJson } from '../api/client.ts';
import type { Problem } from '../api/types.ts';
import { loaded, problems, runById } from '../state/catalogue.ts';
import { loading } from '../state/server.ts';
import { expose } from '../testing/test_hook.ts';
import { fileSize } from '../units/bytes.ts';
import { counted } from '../units/numbers.ts';
import { LossList } from './loss_list.tsx';
import { lossesByRun } from './losses.ts';
import { NoProblem, NoProblemSoFar } from './no_problems.tsx';
import { ProblemFilters } from './problem_filters.tsx';
import { byGravity, wordsOf } from './problem_kinds.ts';
import { ProblemRow } from './problem_row.tsx';
import { onlyRun, search, severity } from './problems_view.ts';
import { WatchList, watched } from './watch_list.tsx';

const MOST_ROWS = 500;

/** The problems of the selected run, or all. */
function ofRun(): Problem[] {
  const name = onlyRun.value;
  if (name === '') return problems.value;
  return problems.value.filter((p) => p.run !== null && runById.value.get(p.run)?.name === name);
}

function found(): Problem[] {
  const words = search.value.toLowerCase();
  return ofRun()
    .filter((problem) => severity.value === 'all' || problem.severity === severity.value)
    .filter((problem) => {
      const run = problem.run === null ? '' : (runById.value.get(problem.run)?.name ?? '');
      const all = [wordsOf(problem.kind).title, problem.text, problem.file ?? '', run].join('\n');
      return all.toLowerCase().includes(words);
    })
    .sort(byGravity);
}

expose('problems', () => ({
  total: problems.value.length,
  shown: found().map(({ id, kind, severity, bytes, count, offset }) => ({
    id,
    kind,
    severity,
    bytes,
    count,
    offset,
  })),
  watched: watched.value.map(({ problem, ...rest }) => ({ ...rest, count: problem.count })),
}));

export default function ProblemsPage() {
  // The server looks at the projector configs when their list is requested.
  useEffect(() => void getJson('embeddings').catch(() => undefined), []);
  if (!loaded.value) return <p class="empty">Reading…</p>;
  if (problems.value.length === 0) return loading.value ? <NoProblemSoFar /> : <NoProblem />;
  const all = ofRun();
  const shown = found();
  // Values that are not numbers are not lost: what is lost is what could not be read.
  const lost = all.filter((p) => p.severity === 'error');
  const bytes = lost.reduce((sum, p) => sum + p.bytes, 0);
  const records = lost.reduce((sum, p) => sum + p.count, 0);
  return (
    <div class="problems-page">
      <div class="problems-list">
        <header class="problems-head">
          <h1>Problems</h1>
          <p>
            {bytes || records
              ? `${counted(records, 'corrupted place')} cost ${fileSize(bytes)}. ${
                  loading.value ? 'Reading goes on.' : 'Everything else was read.'
                }`
              : loading.value
                ? 'No data was lost so far; reading goes on.'
                : 'No data was lost.'}
          </p>
        </header>
        <ProblemFilters all={all} />
        <table>
          <thead>
            <tr>
              <th scope="col">what</th>
              <th scope="col">where</th>
              <th scope="col" class="number">
                at byte
              </th>
              <th scope="col" class="number">
                lost
              </th>
              <th scope="col" class="number">
                times
              </th>
              <th scope="col" class="number">
                found
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, MOST_ROWS).map((problem) => (
              <ProblemRow key={problem.id} problem={problem} />
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="card-note">No problem matches the search.</p>}
        {shown.length > MOST_ROWS && (
          <p class="card-note">
            The first {MOST_ROWS} of {shown.length}.
          </p>
        )}
      </div>
      <div class="problems-side">
        <WatchList />
        <LossList losses={lossesByRun(all)} />
      </div>
    </div>
  );
}
