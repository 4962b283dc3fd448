/** Rows about time and memory in the traced steps. */

import { memorySize } from '../../units/bytes.ts';
import { microsecondsText } from '../../units/durations.ts';
import type { Session } from '../session/session.ts';
import type { ShownCosts, Spread } from '../session/step_costs.ts';
import type { FactRow } from './card_parts.tsx';

export function costRows(session: Session, vertices: readonly number[]): FactRow[] {
  const { value: shown } = session.costs.shown;
  if (!shown) return [];
  return [
    ...row(session, shown, 'Compute time', shown.time, vertices, microsecondsText),
    ...row(session, shown, 'Memory', shown.memory, vertices, memorySize),
  ];
}

function row(
  session: Session,
  shown: ShownCosts,
  name: string,
  spread: Spread,
  vertices: readonly number[],
  words: (value: number) => string,
): FactRow[] {
  const known = vertices.map((v) => spread.total[v]!).filter((cost) => cost >= 0);
  if (known.length === 0) return [];
  const sum = known.reduce((a, b) => a + b, 0);
  const only = vertices.length === 1 && vertices[0]! < session.model.ops ? vertices[0]! : -1;
  const more = only >= 0 ? rangeText(shown, spread, only, words) : 'sum of the ops’ medians';
  return [
    [
      name,
      <>
        {words(sum)}
        {more && <span class="g-quiet-text"> {more}</span>}
      </>,
    ],
  ];
}

/** The minimum and maximum over the steps in which an op ran; empty for a single step. */
export function rangeText(
  shown: ShownCosts,
  spread: Spread,
  op: number,
  words: (value: number) => string,
): string {
  const runs = shown.runs[op]!;
  if (shown.read < 2) return '';
  const where = runs < shown.read ? `${runs} of ${shown.read} steps` : `${runs} steps`;
  const [least, most] = [words(spread.min[op]!), words(spread.max[op]!)];
  return least === most ? `in ${where}` : `median; ${least} to ${most} in ${where}`;
}
