/** Expected and measured times of nodes as the page writes them. */
import { nanosecondsText } from '../units/nanoseconds.ts';

/** A measured time that differs from the expected one by more than this factor is marked. */
const MARKED_FROM = 3;

export const microseconds = (us: number | null): string => (us === null ? '–' : nanosecondsText(1000 * us));

/** How many times the expected time was measured: ×3.2, ×0.25. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return '–';
  if (ratio >= 1000) return '>×999';
  if (ratio > 0 && ratio < 0.01) return '<×0.01';
  return `×${ratio.toFixed(ratio >= 9.95 ? 0 : ratio >= 0.995 ? 1 : 2)}`;
}

export function markOfRatio(ratio: number | null): 'slower' | 'faster' | '' {
  if (ratio === null) return '';
  return ratio > MARKED_FROM ? 'slower' : ratio < 1 / MARKED_FROM ? 'faster' : '';
}
