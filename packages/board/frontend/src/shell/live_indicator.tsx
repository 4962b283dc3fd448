/** Whether the page follows the logs, and how old the newest event is. */
import { useEffect, useState } from 'preact/hooks';
import { connection, heard, latest } from '../api/live.ts';
import { runs } from '../state/catalogue.ts';
import { loading, reading } from '../state/server.ts';

export function LiveMark() {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const state = connection.value;
  const live = runs.value.filter((run) => run.live).length;
  const age = heard.value === 0 ? null : (Date.now() - heard.value) / 1000;
  const text =
    state === 'lost'
      ? 'no connection'
      : state === 'connecting'
        ? 'connecting'
        : latest.value?.loading
          ? `reading · ${part()} %`
          : age === null
            ? 'live'
            : `live · ${age < 10 ? `${age.toFixed(1)} s` : age < 120 ? `${Math.round(age)} s` : age < 7200 ? `${Math.round(age / 60)} min` : `${Math.round(age / 3600)} h`}`;
  return (
    <span
      class={`live-mark ${state}`}
      role="status"
      aria-live="off"
      title={
        state === 'lost'
          ? 'The server does not answer; the page tries again'
          : latest.value?.loading
            ? `${size(latest.value.bytes_done)} of ${size(latest.value.bytes_total)} in ${latest.value.files} files`
            : `${live} runs are being written; the number is the time since the last change${state === 'polling' ? '; by long polls' : ''}`
      }
    >
      <i />
      {text}
      {loading.value && reading.value && (
        <progress
          class="reading-line"
          aria-label="Reading the logs"
          max={reading.value.bytesTotal || 1}
          value={reading.value.bytesDone}
        />
      )}
    </span>
  );
}

function part(): number {
  const { bytesDone, bytesTotal } = reading.value ?? { bytesDone: 0, bytesTotal: 0 };
  return bytesTotal > 0 ? Math.floor((100 * bytesDone) / bytesTotal) : 0;
}

const size = (bytes: number): string =>
  bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
