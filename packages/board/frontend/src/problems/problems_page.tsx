/** The Problems page: what is wrong with the logs, where, and what it cost. */

import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../api/client.ts';
import { latest } from '../api/live.ts';
import type { Problem } from '../api/types.ts';
import { Icon } from '../controls/icons.tsx';
import { RunName } from '../runs/run_name.tsx';
import { loaded, problems, runById } from '../state/catalogue.ts';
import { loading, reading } from '../state/server.ts';
import { safeText } from '../strings/safe_text.ts';
import { expose } from '../testing/test_hook.ts';
import { fileSize } from '../units/bytes.ts';
import { shortDuration } from '../units/durations.ts';
import { count, counted } from '../units/numbers.ts';
import { type Loss, lossesByRun } from './losses.ts';
import { byGravity, wordsOf } from './problem_words.ts';
import { onlyRun, search, severity } from './problems_view.ts';
import { WatchList, watched } from './watch_list.tsx';

const NAMES = {
  error: ['error', 'errors'],
  warning: ['warning', 'warnings'],
  note: ['note', 'notes'],
} as const;
const MOST_ROWS = 500;

/** Of the run that was asked for, or all. */
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
  if (!loaded.value) return <p class="empty">Reading…</p>;
  if (problems.value.length === 0) return loading.value ? <NothingSoFar /> : <AllWell />;
  const all = ofRun();
  const shown = found();
  const count = (kind: Problem['severity']) => all.filter((p) => p.severity === kind).length;
  // Values that are no numbers are not lost: what is lost is what could not be read.
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
              ? `${counted(records, 'damaged place')} cost ${fileSize(bytes)}. ${
                  loading.value ? 'Reading goes on.' : 'Everything else was read.'
                }`
              : loading.value
                ? 'No data was lost so far; reading goes on.'
                : 'No data was lost.'}
          </p>
        </header>
        <div class="problems-tools">
          <div class="segments" role="radiogroup" aria-label="Severity">
            {(['all', 'error', 'warning', 'note'] as const).map((kind) => (
              // biome-ignore lint/a11y/useSemanticElements: a radio cannot look like a segment without a label
              <button
                type="button"
                role="radio"
                key={kind}
                aria-checked={severity.value === kind}
                onClick={() => {
                  severity.value = kind;
                }}
              >
                {kind === 'all'
                  ? `all ${all.length}`
                  : `${count(kind)} ${NAMES[kind][count(kind) === 1 ? 0 : 1]}`}
              </button>
            ))}
          </div>
          {onlyRun.value !== '' && (
            <span class="chip">
              {safeText(onlyRun.value, 60)}
              <button
                type="button"
                class="icon"
                aria-label="Show the problems of all runs"
                onClick={() => {
                  onlyRun.value = '';
                }}
              >
                <Icon name="close" />
              </button>
            </span>
          )}
          <input
            type="search"
            placeholder="Find a file, run or word"
            aria-label="Find among the problems"
            value={search.value}
            onInput={(event) => {
              search.value = event.currentTarget.value;
            }}
          />
        </div>
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
              <Row key={problem.id} problem={problem} />
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="card-note">Nothing fits the search.</p>}
        {shown.length > MOST_ROWS && (
          <p class="card-note">
            The first {MOST_ROWS} of {shown.length}.
          </p>
        )}
      </div>
      <div class="problems-side">
        <WatchList />
        <Losses losses={lossesByRun(all)} />
      </div>
    </div>
  );
}

const MOST_LOSSES = 100;

function Losses({ losses }: { losses: Loss[] }) {
  if (losses.length === 0) return null;
  return (
    <aside class="watch-list" aria-label="Lost by run">
      <h2>Lost by run</h2>
      <ul>
        {losses.slice(0, MOST_LOSSES).map(({ run, bytes, places }) => {
          const found = runById.value.get(run);
          return (
            found && (
              <li key={run}>
                <button
                  type="button"
                  title="Only the problems of this run"
                  onClick={() => {
                    onlyRun.value = found.name;
                  }}
                >
                  <span class="watch-run">
                    <RunName run={found} />
                  </span>
                  <span class="watch-step">
                    {fileSize(bytes)}
                    <span class="faint"> · {counted(places, 'place')}</span>
                  </span>
                </button>
              </li>
            )
          );
        })}
      </ul>
      {losses.length > MOST_LOSSES && (
        <p class="faint">
          The {MOST_LOSSES} greatest of {losses.length}.
        </p>
      )}
    </aside>
  );
}

function Row({ problem }: { problem: Problem }) {
  const run = problem.run === null ? undefined : runById.value.get(problem.run);
  const words = wordsOf(problem.kind);
  return (
    <tr data-kind={problem.kind}>
      <th scope="row">
        <div class="problem-what">
          <span class={`severity ${problem.severity}`} title={problem.severity}>
            <span class="hidden-for-the-eye">{problem.severity}: </span>
          </span>
          <div>
            <b>{words.title}</b>
            <span class="problem-text" title={words.advice}>
              {safeText(problem.text, 300)}
            </span>
          </div>
        </div>
      </th>
      <td>
        {run && <RunName run={run} />}
        {problem.file && (
          <span class="file" title={safeText(problem.file, 500)}>
            {safeText(problem.file.slice(problem.file.lastIndexOf('/') + 1), 120)}
          </span>
        )}
      </td>
      <td class="number">{problem.offset ?? ''}</td>
      <td class="number">{problem.bytes ? fileSize(problem.bytes) : ''}</td>
      <td class="number">{problem.count > 1 ? problem.count : ''}</td>
      <td class="number faint">{ago(problem.wall)}</td>
    </tr>
  );
}

function ago(wall: number): string {
  const seconds = Math.round(Date.now() / 1000 - wall);
  return seconds < 2 ? 'just now' : `${shortDuration(seconds)} ago`;
}

interface Health {
  files: number;
  bytes_done: number;
  points: number;
  blobs: number;
}

function NothingSoFar() {
  const far = reading.value;
  return (
    <p class="empty" role="status">
      Nothing is wrong so far; the logs are still being read
      {far && far.bytesTotal > 0 ? `: ${fileSize(far.bytesDone)} of ${fileSize(far.bytesTotal)}.` : '.'}
    </p>
  );
}

function AllWell() {
  const [health, set] = useState<Health | null>(null);
  const rev = latest.value?.rev;
  useEffect(() => {
    const stop = new AbortController();
    getJson<Health>('health', {}, stop.signal).then(set, () => undefined);
    return () => stop.abort();
  }, [rev]);
  return (
    <div class="empty empty-page all-well">
      <svg viewBox="0 0 48 48" width="48" height="48" aria-hidden="true">
        <circle cx="24" cy="24" r="21" />
        <path d="M15 24.5l6.5 6.5L33.5 18" />
      </svg>
      <h2>Nothing is wrong with these logs</h2>
      <p>
        {health
          ? `${counted(health.files, 'file')} of ${fileSize(health.bytes_done)} were read whole: ` +
            `${count(health.points)} points and ${count(health.blobs)} other values, every checksum right.`
          : 'Every record was read, and every checksum is right.'}
      </p>
      <p class="faint">
        Damaged records, files that end early, values that are NaN, clocks that jump and programs gone silent
        would be listed here.
      </p>
    </div>
  );
}
