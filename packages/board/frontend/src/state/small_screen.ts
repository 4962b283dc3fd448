/** Windows too narrow for panels side by side: runs and details are drawers there, and tools a sheet. */
import { signal } from '@preact/signals';

/** style/small_screen.css has the same width. */
const query = matchMedia('(max-width: 799px)');

export const isSmall = signal(query.matches);
query.addEventListener('change', () => {
  isSmall.value = query.matches;
  runsOpen.value = false;
});

/** Whether the runs are shown over the page; on wide windows they stand beside it. */
export const runsOpen = signal(false);
