/** Whether the page follows the logs, and how old the newest event is. */

import { useEffect, useState } from 'preact/hooks';
import { changedAt, connection, latest } from '../api/live.ts';
import { runs } from '../state/catalogue.ts';
import { loading, reading } from '../state/server.ts';
import { fileSize } from '../units/bytes.ts';
import { age } from '../units/durations.ts';

export function LiveIndicator() {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const state = connection.value;
  const live = runs.value.filter((run) => run.live).length;
  const seconds = changedAt.value === 0 ? null : (Date.now() - changedAt.value) / 1000;
  const text =
    state === 'lost'
      ? 'no connection'
      : state === 'connecting'
        ? 'connecting'
        : latest.value?.loading
          ? `reading · ${part()} %`
          : seconds === null
            ? 'live'
            : `live · ${age(seconds)}`;
  return (
    <span
      class={`live-mark ${state}`}
      role="status"
      aria-live="off"
      title={
        state === 'lost'
          ? 'The server does not respond; the page tries again'
          : latest.value?.loading
            ? `${fileSize(latest.value.bytes_done)} of ${fileSize(latest.value.bytes_total)} in ${latest.value.files} files`
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
