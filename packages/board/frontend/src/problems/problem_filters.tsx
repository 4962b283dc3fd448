/** The filters of the table of problems: severity, run, words. */
import type { Problem } from '../api/types.ts';
import { Icon } from '../controls/icons.tsx';
import { safeText } from '../strings/safe_text.ts';
import { onlyRun, search, severity } from './problems_view.ts';

const NAMES = {
  error: ['error', 'errors'],
  warning: ['warning', 'warnings'],
  note: ['note', 'notes'],
} as const;

/** `all` are the problems that the numbers of each severity count. */
export function ProblemFilters({ all }: { all: Problem[] }) {
  const count = (kind: Problem['severity']) => all.filter((p) => p.severity === kind).length;
  return (
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
        aria-label="Search the problems"
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value;
        }}
      />
    </div>
  );
}
