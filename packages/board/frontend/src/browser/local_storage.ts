/** What this browser keeps, and what another page of it changes. Storage may be forbidden or full. */
import { effect, type Signal, signal } from '@preact/signals';

const PREFIX = 'headrace.';

/** undefined: nothing is kept under the name, or nothing that can be read. */
export function readKept(name: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Keeps a value; undefined takes it away. False: it lasts only as long as the page. */
export function keep(name: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Calls back when another page has kept something else under the name. */
export function onKept(name: string, changed: (value: unknown) => void): void {
  addEventListener('storage', (event) => {
    if (event.key === PREFIX + name && event.storageArea === localStorage) changed(readKept(name));
  });
}

/** A signal whose value this browser keeps; `allowed` are its values, or others must be of the fallback's type. */
export function kept<T extends string | number | boolean>(
  name: string,
  fallback: T,
  allowed?: readonly T[],
): Signal<T> {
  const found = readKept(name) as T;
  const fits = allowed ? allowed.includes(found) : typeof found === typeof fallback;
  const value = signal<T>(fits ? found : fallback);
  let first = true;
  effect(() => {
    const now = value.value;
    if (!first) keep(name, now);
    first = false;
  });
  return value;
}
