/** Where an op ran in the traced step nearest to the step cursor, and why. */
import { computed } from '@preact/signals';
import { useResponse } from '../../api/use_response.ts';
import { microseconds } from '../../placement/figures.ts';
import { fetchNodeOfGraph, type PlacedNode } from '../../placement/placement_api.ts';
import { whyText } from '../../placement/reasons.ts';
import { series, tagById } from '../../state/catalogue.ts';
import { stepCursor } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import type { Session } from '../session/session.ts';
import type { FactRow } from './card_parts.tsx';

const tracedRuns = computed(
  () =>
    new Set(
      series.value.filter((one) => tagById.value.get(one.tag)?.kind === 'run_metadata').map((one) => one.run),
    ),
);

/** A row about the op's device; null where no traced step of the graph's run has a placement of it. */
export function usePlacementRow(session: Session, op: number): FactRow | null {
  const { entry, model } = session;
  const name = model.path(op);
  const step = stepCursor.value;
  const traced = entry.run !== null && tracedRuns.value.has(entry.run);
  const { response } = useResponse<{ name: string; node: PlacedNode | null; step?: number } | null>(
    traced ? async (signal) => ({ name, ...(await fetchNodeOfGraph(entry.id, name, step, signal)) }) : null,
    null,
    [entry.id, name, step, traced],
  );
  if (!response?.node || response.name !== name) return null;
  const { node } = response;
  const measured = node.measured_us === null ? '' : `, measured ${microseconds(node.measured_us)}`;
  return [
    'Device',
    <>
      {safeText(node.title, 100)} — {whyText(node)}
      <div class="g-quiet-text">
        expected {microseconds(node.expected_us)}
        {measured} in step {response.step}
      </div>
    </>,
  ];
}
