/** What the Problems page shows; in the address. */

import { choice, text } from '../address/url_codec.ts';
import { goTo, urlSignal } from '../address/url_state.ts';
import type { Problem } from '../api/types.ts';

export type Shown = 'all' | Problem['severity'];
export const severity = urlSignal<Shown>('psev', choice<Shown>('all', 'error', 'warning', 'note'), 'all');
export const search = urlSignal('pq', text, '');
/** The name of the run whose problems are shown; '' is all. */
export const onlyRun = urlSignal('prun', text, '');

/** Opens the page with the problems of a run. */
export function showProblemsOf(run: string): void {
  onlyRun.value = run;
  severity.value = 'all';
  search.value = '';
  goTo('problems');
}
