/** What each run lost to corrupted records. */
import { RunName } from '../runs/run_name.tsx';
import { runById } from '../state/catalogue.ts';
import { fileSize } from '../units/bytes.ts';
import { counted } from '../units/numbers.ts';
import type { Loss } from './losses.ts';
import { onlyRun } from './problems_view.ts';

const MOST_LOSSES = 100;

export function LossList({ losses }: { losses: Loss[] }) {
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
