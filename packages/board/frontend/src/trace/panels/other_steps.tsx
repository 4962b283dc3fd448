/** Slices of the same node in this and in other steps. */

import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { safeText } from '../../strings/safe_text.ts';
import { nanosecondsText } from '../../units/nanoseconds.ts';
import { counted } from '../../units/numbers.ts';
import { type Everywhere, fetchEverywhere } from '../data/trace_api.ts';
import { goToSlice } from '../state/trace_selection.ts';
import { chooseTrace, keyOfTrace, mainTrace, ofTheRun } from '../state/trace_state.ts';
import { TabFailure } from './loading.tsx';

const FIRST_ROWS = 40;

export function OtherSteps({ trace, slice, node }: { trace: number; slice: number; node: string }) {
  const [reply, setReply] = useState<{ key: string; found: Everywhere | null; failure: string }>({
    key: '',
    found: null,
    failure: '',
  });
  const [tries, setTries] = useState(0);
  const [all, setAll] = useState(false);
  const key = `${trace} ${node}`;
  useEffect(() => {
    let here = true;
    fetchEverywhere(trace, node)
      .then((found) => here && setReply({ key, found, failure: '' }))
      .catch((error: unknown) => {
        const failure = messageOf(error);
        if (here) setReply({ key, found: null, failure });
      });
    return () => {
      here = false;
    };
  }, [key, tries]);
  if (reply.key !== key) return null;
  if (!reply.found) {
    const message = `The other steps could not be read: ${reply.failure}`;
    return <TabFailure retry={() => setTries(tries + 1)}>{message}</TabFailure>;
  }
  const { slices: rows, skipped = [] } = reply.found;
  const steps = new Set(rows.map((row) => row.trace)).size;
  const traced = ofTheRun.value.length;
  const unseen = traced - steps - skipped.length;
  const most = Math.max(1, ...rows.map((row) => row.dur));
  if (rows.length <= 1 && traced <= 1) return null;
  return (
    <section>
      <h3>
        In all traced steps{' '}
        <span class="faint">
          {counted(rows.length, 'slice')}, {steps} of {traced} {traced === 1 ? 'step' : 'steps'}
        </span>
      </h3>
      <table class="trace-bars">
        <tbody>
          {(all ? rows : rows.slice(0, FIRST_ROWS)).map((row) => {
            const self = row.trace === trace && row.slice === slice;
            const go = () => {
              const other = ofTheRun.peek().find((one) => one.id === row.trace);
              if (other && row.trace !== mainTrace.peek()?.id) chooseTrace(other);
              void goToSlice(row.trace, row.slice);
            };
            return (
              <tr key={`${row.trace} ${row.slice}`} aria-current={self || undefined}>
                <td class="trace-bar-name">
                  <span class="trace-bar plain" style={{ width: `${(100 * row.dur) / most}%` }} />
                  <button type="button" class="trace-link" onClick={go}>
                    step {safeText(keyOfTrace.value.get(row.trace) ?? String(row.step), 40)}
                  </button>
                </td>
                <td>{nanosecondsText(row.dur)}</td>
                <td class="faint">at {nanosecondsText(row.start)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > FIRST_ROWS && (
        <button type="button" class="quiet trace-all" onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `${rows.length - FIRST_ROWS} more`}
        </button>
      )}
      {unseen > 0 && (
        <p class="faint">
          {counted(unseen, 'step')} not listed: without a slice of the node, or not searched (only the 16
          nearest steps are, and large traces only once they were opened).
        </p>
      )}
      {skipped.map((one) => (
        <p key={one.trace} class="faint">
          step {safeText(keyOfTrace.value.get(one.trace) ?? String(one.step), 40)}: {safeText(one.error, 200)}
        </p>
      ))}
    </section>
  );
}
