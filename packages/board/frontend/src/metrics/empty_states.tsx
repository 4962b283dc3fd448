/** What the page shows in place of the cards: still reading, no data, no match. */

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { getJson } from '../api/client.ts';
import { runQuery, showEveryRun } from '../runs/visible_runs.ts';
import { meta, problems } from '../state/catalogue.ts';
import { safeText } from '../strings/safe_text.ts';
import { fileSize } from '../units/bytes.ts';
import { counted } from '../units/numbers.ts';
import { emptyCount } from './grid/card_list.ts';
import { kindFilter, showsEmpty, tagFilter } from './grid/grid_address.ts';

interface Health {
  bytes_done: number;
  bytes_total: number;
  files: number;
  loading: boolean;
}

export const health = signal<Health | null>(null);

/** Polls how far reading is, until it is done. */
export function useHealth(): Health | null {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let here = true;
    const poll = async () => {
      try {
        health.value = await getJson<Health>('health');
      } catch {
        // the frame shows that the server does not respond
      }
      if (here && (health.value?.loading ?? true)) timer = setTimeout(poll, 250);
    };
    void poll();
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, []);
  return health.value;
}

export function LoadingBoard() {
  const now = useHealth();
  return (
    <div class="notice" role="status">
      <h2>Reading the logs</h2>
      {now && now.bytes_total > 0 ? (
        <>
          <progress max={now.bytes_total} value={now.bytes_done} />
          <p>
            {fileSize(now.bytes_done)} of {fileSize(now.bytes_total)} in {now.files} files
          </p>
        </>
      ) : (
        <progress />
      )}
    </div>
  );
}

export function EmptyBoard({ hasRuns }: { hasRuns: boolean }) {
  const now = useHealth();
  if (now?.loading && now.bytes_total > 0) return <LoadingBoard />;
  const folder = meta.value?.logdir;
  const missing = problems.value.find((one) => one.kind === 'missing_logdir');
  if (missing) {
    return (
      <div class="notice" role="alert">
        <h2>The log folder is not there</h2>
        <p>{safeText(missing.text)}.</p>
        <p class="faint">
          Its runs appear again as soon as the folder does. If it was moved, start the board with its new
          place.
        </p>
      </div>
    );
  }
  return (
    <div class="notice">
      <h2>{hasRuns ? 'These runs have no metrics yet' : 'Nothing has been written yet'}</h2>
      <p>
        The board watches {folder ? <code>{safeText(folder)}</code> : 'the folder'} and all folders below it;
        new logs appear here immediately.
      </p>
      <pre>
        {'from headrace.formats.event_file import EventFileWriter\n\nwith EventFileWriter("'}
        {safeText(folder || 'runs')}
        {'/first") as writer:\n    ...  # a Summary with tag and simple_value'}
      </pre>
      <p class="faint">Logs of TensorFlow and of PyTorch's SummaryWriter are read as well.</p>
    </div>
  );
}

/** How many cards are hidden because the chosen runs have nothing for them. */
export function EmptyCards() {
  const hidden = emptyCount.value;
  if (hidden === 0) return null;
  const shown = showsEmpty.value;
  return (
    <p class="grid-note" role="status">
      {counted(hidden, 'card')} without data of the chosen runs {shown ? 'shown' : 'hidden'}
      <button
        type="button"
        class="link"
        onClick={() => {
          showsEmpty.value = !shown;
        }}
      >
        {shown ? 'Hide' : 'Show'}
      </button>
    </p>
  );
}

export function NothingMatches() {
  if (emptyCount.value > 0) {
    return (
      <div class="notice">
        <h2>The chosen runs have no data here</h2>
        <p>
          <button type="button" onClick={showEveryRun}>
            Show every run
          </button>{' '}
          <ClearRunFilter />
        </p>
      </div>
    );
  }
  return (
    <div class="notice">
      <h2>No card matches</h2>
      <p>
        <button
          type="button"
          onClick={() => {
            tagFilter.value = '';
            kindFilter.value = '';
          }}
        >
          Clear the filter
        </button>{' '}
        <ClearRunFilter />
      </p>
    </div>
  );
}

function ClearRunFilter() {
  if (!runQuery.value) return null;
  return (
    <button
      type="button"
      onClick={() => {
        runQuery.value = '';
      }}
    >
      Clear the filter of runs
    </button>
  );
}
