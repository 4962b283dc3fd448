/** Widths of the side panels, kept in the browser. */
import { kept } from '../browser/local_storage.ts';

export const runsWidth = kept<number>('runs-width', 260);
export const inspectorWidth = kept<number>('inspector-width', 300);
/** Whether the table of runs is put away. */
export const narrow = kept<boolean>('runs-away', false);
