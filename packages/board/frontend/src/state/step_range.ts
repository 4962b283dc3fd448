/** The range of steps that is selected on every chart, applied to lists of steps. */

import { count } from '../units/numbers.ts';

export interface StepRange {
  /** null: no end on this side. */
  from: number | null;
  to: number | null;
}

export function inRange(step: number, { from, to }: StepRange): boolean {
  return (from === null || step >= from) && (to === null || step <= to);
}

/** The places of the steps that lie within a range; null where all of them do. */
export function placesInRange(steps: number[], range: StepRange): number[] | null {
  if (steps.every((step) => inRange(step, range))) return null;
  return steps.flatMap((step, place) => (inRange(step, range) ? [place] : []));
}

/** The message of a card whose steps are all outside the range; null: it has steps within it. */
export function nothingInRange(all: number, within: number, { from, to }: StepRange): string | null {
  if (all === 0 || within > 0) return null;
  const text = (step: number) => count(step);
  if (from === null) return `Nothing up to step ${text(to ?? 0)}.`;
  return to === null
    ? `Nothing from step ${text(from)} on.`
    : `Nothing between steps ${text(from)} and ${text(to)}.`;
}
