/** Widths of the side panels, kept in the browser. */
import { effect, type Signal, signal } from '@preact/signals';

function kept<T>(name: string, fallback: T): Signal<T> {
  let initial = fallback;
  try {
    const text = localStorage.getItem(`headrace.${name}`);
    if (text !== null) initial = JSON.parse(text) as T;
  } catch {
    // storage is forbidden or holds something else
  }
  const value = signal(initial);
  effect(() => {
    const text = JSON.stringify(value.value);
    try {
      localStorage.setItem(`headrace.${name}`, text);
    } catch {
      // the choice lasts as long as the page
    }
  });
  return value;
}

export const runsWidth = kept('runs-width', 260);
export const inspectorWidth = kept('inspector-width', 300);
/** Whether the table of runs is put away. */
export const narrow = kept('runs-away', false);
