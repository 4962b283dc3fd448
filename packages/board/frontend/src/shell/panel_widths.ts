/** Widths of the side panels, stored in the browser. */
import { localSignal } from '../browser/local_storage.ts';

export const runsWidth = localSignal<number>('runs-width', 260);
export const inspectorWidth = localSignal<number>('inspector-width', 300);
/** Whether the table of runs is put away. */
export const narrow = localSignal<boolean>('runs-away', false);
