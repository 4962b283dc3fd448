/** Since when the server does not respond; a restart that takes a moment is no cause for alarm. */
import { effect, signal } from '@preact/signals';
import { connection } from '../api/live.ts';

const PATIENCE_MS = 2000;

/** In milliseconds of the page's clock; null while the server responds. */
export const lostSince = signal<number | null>(null);

effect(() => {
  if (connection.value !== 'lost') {
    lostSince.value = null;
    return;
  }
  const since = Date.now();
  const timer = setTimeout(() => {
    lostSince.value = since;
  }, PATIENCE_MS);
  return () => clearTimeout(timer);
});
