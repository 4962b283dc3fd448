/** Whether the details are shown over the graph; on wide windows they stand beside it. */
import { signal } from '@preact/signals';

export const detailsOpen = signal(false);
