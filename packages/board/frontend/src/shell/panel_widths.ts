/** Widths of the side panels, stored in the browser. */
import { localSignal } from '../browser/local_storage.ts';
import { isSmall, runsOpen } from '../state/small_screen.ts';

export const runsWidth = localSignal<number>('runs-width', 260);
export const inspectorWidth = localSignal<number>('inspector-width', 300);
/** Whether the table of runs is put away. */
export const narrow = localSignal<boolean>('runs-away', false);

/** Shows or hides the table of runs: beside the page, or over it on a small screen. */
export function toggleRuns(): void {
  if (isSmall.peek()) runsOpen.value = !runsOpen.peek();
  else narrow.value = !narrow.peek();
}
