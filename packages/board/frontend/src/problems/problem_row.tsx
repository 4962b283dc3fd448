/** A problem as a row of the table. */
import type { Problem } from '../api/types.ts';
import { RunName } from '../runs/run_name.tsx';
import { runById } from '../state/catalogue.ts';
import { safeText } from '../strings/safe_text.ts';
import { fileSize } from '../units/bytes.ts';
import { shortDuration } from '../units/durations.ts';
import { wordsOf } from './problem_kinds.ts';

export function ProblemRow({ problem }: { problem: Problem }) {
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
            {safeText(run ? problem.file.slice(problem.file.lastIndexOf('/') + 1) : problem.file, 120)}
          </span>
        )}
      </td>
      <td class="number" data-label="at byte">
        {problem.offset ?? ''}
      </td>
      <td class="number" data-label="lost">
        {problem.bytes ? fileSize(problem.bytes) : ''}
      </td>
      <td class="number" data-label="times">
        {problem.count > 1 ? problem.count : ''}
      </td>
      <td class="number faint" data-label="found">
        {ago(problem.wall)}
      </td>
    </tr>
  );
}

function ago(wall: number): string {
  const seconds = Math.round(Date.now() / 1000 - wall);
  return seconds < 2 ? 'just now' : `${shortDuration(seconds)} ago`;
}
