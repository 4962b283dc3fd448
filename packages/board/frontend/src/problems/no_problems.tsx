/** What the page shows while there is no problem. */
import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../api/client.ts';
import { latest } from '../api/live.ts';
import { reading } from '../state/server.ts';
import { fileSize } from '../units/bytes.ts';
import { count, counted } from '../units/numbers.ts';

interface Health {
  files: number;
  bytes_done: number;
  points: number;
  blobs: number;
}

export function NoProblemSoFar() {
  const far = reading.value;
  return (
    <p class="empty" role="status">
      Nothing is wrong so far; the logs are still being read
      {far && far.bytesTotal > 0 ? `: ${fileSize(far.bytesDone)} of ${fileSize(far.bytesTotal)}.` : '.'}
    </p>
  );
}

export function NoProblem() {
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
          ? `${counted(health.files, 'file')} of ${fileSize(health.bytes_done)} were read completely: ` +
            `${count(health.points)} points and ${count(health.blobs)} other values, all checksums are valid.`
          : 'All records were read, and all checksums are valid.'}
      </p>
      <p class="faint">
        Corrupted records, files that end early, values that are NaN and clocks that jump would be listed
        here.
      </p>
    </div>
  );
}
