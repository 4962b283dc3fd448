/** Totals of the selected area, by op, device and node. */

import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { momentInSpan, nanosecondsText } from '../../units/nanoseconds.ts';
import { count, counted } from '../../units/numbers.ts';
import { fetchTotals, type Totals } from '../data/trace_api.ts';
import { selectArea, selectNode } from '../state/trace_selection.ts';
import { selectedArea } from '../state/trace_state.ts';
import { BarTable } from './bar_table.tsx';
import { TabFailure } from './loading.tsx';

const WAIT_MS = 60;
const NONE = { key: '', totals: null, failure: '' };

export function AreaTab() {
  const area = selectedArea.value;
  const [reply, setReply] = useState<{ key: string; totals: Totals | null; failure: string }>(NONE);
  const [tries, setTries] = useState(0);
  const key = area ? JSON.stringify(area) : '';
  useEffect(() => {
    if (!area || !(area.t1 > area.t0)) return;
    let here = true;
    const timer = setTimeout(() => {
      fetchTotals(area.trace, area.t0, area.t1, area.lanes)
        .then((totals) => here && setReply({ key, totals, failure: '' }))
        .catch((error: unknown) => {
          const failure = messageOf(error);
          if (here) setReply({ key, totals: null, failure });
        });
    }, WAIT_MS);
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [key, tries]);
  if (!area) return null;
  const totals = reply.key === key ? reply.totals : null;
  const failure = reply.key === key ? reply.failure : '';
  const tracks = area.lanes ? counted(area.lanes.length, 'track') : 'all tracks';
  return (
    <>
      <section>
        <h2>{nanosecondsText(area.t1 - area.t0)}</h2>
        <p class="faint">
          from {momentInSpan(area.t0, area.t1 - area.t0)} to {momentInSpan(area.t1, area.t1 - area.t0)},{' '}
          {tracks}
        </p>
        <div class="trace-buttons">
          <button type="button" onClick={() => selectArea(null)}>
            Clear
          </button>
        </div>
      </section>
      {failure && (
        <TabFailure
          retry={() => setTries(tries + 1)}
        >{`The totals could not be read: ${failure}`}</TabFailure>
      )}
      {!totals && !failure && (
        <p class="faint" role="status" aria-busy="true">
          Adding up…
        </p>
      )}
      {totals && (
        <>
          <section>
            <h3>
              By op{' '}
              <span class="faint">
                {count(totals.slices)} slices, {nanosecondsText(totals.total_ns)}
              </span>
            </h3>
            <BarTable
              rows={totals.by_op.map((row) => ({
                name: row.op,
                op: row.op,
                ns: row.total_ns,
                count: row.count,
              }))}
              whole={totals.total_ns}
            />
          </section>
          <section>
            <h3>By device</h3>
            <BarTable
              rows={totals.by_device.map((row) => ({ name: row.device, ns: row.total_ns, count: row.count }))}
              whole={totals.total_ns}
            />
          </section>
          <section>
            <h3>By node</h3>
            <BarTable
              rows={totals.by_node.map((row) => ({
                name: row.node,
                op: row.op,
                ns: row.total_ns,
                count: row.count,
                run: () => selectNode(row.node),
              }))}
              whole={totals.total_ns}
            />
          </section>
        </>
      )}
    </>
  );
}
