/** The Compare tab: the time of each op in several steps, and the nodes that differ most. */

import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { safeText } from '../../strings/safe_text.ts';
import { nanosecondsText } from '../../units/nanoseconds.ts';
import { type Comparison, fetchComparison } from '../data/trace_api.ts';
import { selectNode } from '../state/trace_selection.ts';
import { keyOfTrace, shown } from '../state/trace_state.ts';
import { TabFailure } from './loading.tsx';

const FIRST_OPS = 14;
const FIRST_NODES = 30;

export function CompareTab() {
  const ids = shown.value.map((model) => model.id);
  const key = ids.join(',');
  const [reply, setReply] = useState<{ key: string; compared: Comparison | null; failure: string }>({
    key: '',
    compared: null,
    failure: '',
  });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (ids.length < 2) return;
    let here = true;
    fetchComparison(ids)
      .then((compared) => here && setReply({ key, compared, failure: '' }))
      .catch((error: unknown) => {
        const failure = messageOf(error);
        if (here) setReply({ key, compared: null, failure });
      });
    return () => {
      here = false;
    };
  }, [key, tries]);
  if (ids.length < 2) {
    return <p class="faint">None of the chosen steps is in this log any more: choose others above.</p>;
  }
  if (reply.key === key && reply.failure) {
    const message = `The steps could not be compared: ${reply.failure}`;
    return <TabFailure retry={() => setTries(tries + 1)}>{message}</TabFailure>;
  }
  const { compared } = reply;
  if (reply.key !== key || !compared) {
    return (
      <p class="faint" role="status" aria-busy="true">
        Comparing {ids.length} steps…
      </p>
    );
  }
  const keys = keyOfTrace.value;
  const head = compared.traces.map(
    (trace) =>
      `${trace.step === null ? '' : 'step '}${safeText(keys.get(trace.id) ?? String(trace.step), 40)}`,
  );
  const whole = { name: 'whole step', values: compared.traces.map((trace) => trace.duration_ns ?? 0) };
  const ops = compared.ops.map((row) => ({ name: row.op, values: row.totals_ns }));
  const nodes = compared.nodes.map((row) => ({
    name: row.name,
    values: row.durations,
    run: () => selectNode(row.name),
  }));
  return (
    <>
      <section>
        <h3>By op</h3>
        <Grid head={head} rows={[whole, ...ops]} first={FIRST_OPS + 1} />
      </section>
      <section>
        <h3>Nodes that differ most</h3>
        <Grid head={head} rows={nodes} first={FIRST_NODES} />
      </section>
    </>
  );
}

function Grid({
  head,
  rows,
  first,
}: {
  head: string[];
  rows: { name: string; values: number[]; run?: () => void }[];
  first: number;
}) {
  const [all, setAll] = useState(false);
  return (
    <>
      <table class="trace-compare">
        <thead>
          <tr>
            <th scope="col" aria-label="name" />
            {head.map((title, i) => (
              <th scope="col" key={i}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(all ? rows : rows.slice(0, first)).map((row) => (
            <tr key={row.name}>
              <th scope="row" title={safeText(row.name)}>
                {row.run ? (
                  <button type="button" class="trace-link" onClick={row.run}>
                    {safeText(row.name, 200)}
                  </button>
                ) : (
                  safeText(row.name, 200)
                )}
              </th>
              {row.values.map((value, i) => (
                <td key={i} class={standing(value, row.values[0]!)}>
                  {value ? nanosecondsText(value) : '–'}
                  {i > 0 && row.values[0]! > 0 && value > 0 && (
                    <span class="faint"> {change(value / row.values[0]!)}</span>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > first && (
        <button type="button" class="quiet trace-all" onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `${rows.length - first} more`}
        </button>
      )}
    </>
  );
}

function change(ratio: number): string {
  if (ratio >= 2) return `×${ratio.toFixed(1)}`;
  const percent = Math.round(100 * (ratio - 1));
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent)} %`;
}

function standing(value: number, first: number): string {
  if (!value || !first) return '';
  return value > first * 1.2 ? 'slower' : value < first / 1.2 ? 'faster' : '';
}
