/** Values in the local storage of the browser, which all its pages share. Storage may be forbidden or full. */
import { effect, type Signal, signal } from '@preact/signals';

const PREFIX = 'headrace.';

/** undefined: there is no value under the name, or it cannot be read. */
export function readLocal(name: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Writes a value; undefined removes it. Returns: whether it was written. */
export function writeLocal(name: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Calls back when another page has written another value under the name. */
export function onLocalChange(name: string, changed: (value: unknown) => void): void {
  addEventListener('storage', (event) => {
    if (event.key === PREFIX + name && event.storageArea === localStorage) changed(readLocal(name));
  });
}

/** A signal whose value outlives the page; a stored value must be among `allowed`, or of the fallback's type. */
export function localSignal<T extends string | number | boolean>(
  name: string,
  fallback: T,
  allowed?: readonly T[],
): Signal<T> {
  const found = readLocal(name) as T;
  const fits = allowed ? allowed.includes(found) : typeof found === typeof fallback;
  const value = signal<T>(fits ? found : fallback);
  let first = true;
  effect(() => {
    const now = value.value;
    if (!first) writeLocal(name, now);
    first = false;
  });
  return value;
}
