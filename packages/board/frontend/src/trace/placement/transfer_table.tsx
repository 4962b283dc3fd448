/** What passes between tasks in a placement. */
import { useState } from 'preact/hooks';
import { microseconds } from '../../placement/figures.ts';
import type { PlacementSummary } from '../../placement/placement_api.ts';
import { safeText } from '../../strings/safe_text.ts';
import { memorySize } from '../../units/bytes.ts';
import { counted } from '../../units/numbers.ts';

const FIRST_ROWS = 6;

export function TransferTable({ placement }: { placement: PlacementSummary }) {
  const [all, setAll] = useState(false);
  const { transfers, transfer_count, transfer_bytes } = placement;
  if (!transfer_count) return null;
  return (
    <section>
      <h3>
        Between tasks{' '}
        <span class="faint">
          {counted(transfer_count, 'tensor')}, {memorySize(transfer_bytes)}
        </span>
      </h3>
      <table class="trace-compare placement-transfers">
        <thead>
          <tr>
            <th scope="col">Tensor</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Bytes</th>
            <th scope="col">Expected</th>
          </tr>
        </thead>
        <tbody>
          {(all ? transfers : transfers.slice(0, FIRST_ROWS)).map((move, i) => (
            <tr key={i}>
              <th scope="row" class="placement-tensor" title={safeText(move.tensor)}>
                <bdi>{safeText(move.tensor, 200)}</bdi>
              </th>
              <td title={safeText(move.from, 200)}>{safeText(move.from, 60)}</td>
              <td title={safeText(move.to, 200)}>{safeText(move.to, 60)}</td>
              <td>{memorySize(move.bytes)}</td>
              <td>{microseconds(move.expected_us)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {transfers.length > FIRST_ROWS && (
        <button type="button" class="quiet trace-all" onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `${transfers.length - FIRST_ROWS} more`}
        </button>
      )}
      {all && transfer_count > transfers.length && (
        <p class="faint">The {transfers.length} that are expected to take longest.</p>
      )}
    </section>
  );
}
