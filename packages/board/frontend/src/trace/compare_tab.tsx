/** Steps side by side: what each op took in each, and the nodes that differ most. */
import { useEffect, useState } from 'preact/hooks';
import { safeText } from '../shell/safe_text.ts';
import { selectedNode } from '../state/selection.ts';
import { durationText } from './ruler_ticks.ts';
import { type Comparison, fetchComparison } from './trace_api.ts';
import { shown } from './trace_state.ts';

export function CompareTab() {
  const ids = shown.value.map((model) => model.id);
  const key = ids.join(',');
  const [compared, setCompared] = useState<Comparison | null>(null);
  useEffect(() => {
    let here = true;
    fetchComparison(ids)
      .then((found) => here && setCompared(found))
      .catch(() => undefined);
    return () => {
      here = false;
    };
  }, [key]);
  if (!compared || compared.traces.length < 2) return null;
  const head = compared.traces.map((trace) => `step ${trace.step}`);
  return (
    <>
      <section>
        <h3>By op</h3>
        <Grid
          head={head}
          rows={[
            { name: 'whole step', values: compared.traces.map((trace) => trace.duration_ns ?? 0) },
            ...compared.ops.slice(0, 14).map((row) => ({ name: row.op, values: row.totals_ns })),
          ]}
        />
      </section>
      <section>
        <h3>Nodes that differ most</h3>
        <Grid
          head={head}
          rows={compared.nodes.slice(0, 30).map((row) => ({
            name: row.name,
            values: row.durations,
            run: () => {
              selectedNode.value = row.name;
            },
          }))}
        />
      </section>
    </>
  );
}

function Grid({
  head,
  rows,
}: {
  head: string[];
  rows: { name: string; values: number[]; run?: () => void }[];
}) {
  return (
    <table class="trace-compare">
      <thead>
        <tr>
          <th scope="col" aria-label="name" />
          {head.map((title) => (
            <th scope="col" key={title}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
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
                {value ? durationText(value) : '–'}
                {i > 0 && row.values[0]! > 0 && value > 0 && (
                  <span class="faint"> {change(value / row.values[0]!)}</span>
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
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
