/**
 * window.__board: what the page shows, for browser tests and benchmarks; read-only. Only `node build.mjs
 * --test-hooks` builds it: in the product these functions are empty, and esbuild drops their calls.
 */
import { useEffect } from 'preact/hooks';

/** Set by build.mjs; there is no such name under node. */
declare const TEST_HOOKS: boolean | undefined;

type Getter = () => unknown;
let getters: Record<string, Getter> | null = null;
const lists = new Map<string, Map<string, Getter>>();
const records = new Map<string, object>();

/** Adds `window.__board[name]`; the getter returns plain data. */
export function expose(name: string, getter: Getter): void {
  if (typeof TEST_HOOKS === 'undefined' || !TEST_HOOKS) return;
  getters ??= makeBoard();
  getters[name] = getter;
}

/** Adds an item to the list `window.__board[name]` while the component is in the document. */
export function useExposed(name: string, id: string, getter: Getter): void {
  if (typeof TEST_HOOKS === 'undefined' || !TEST_HOOKS) return;
  useEffect(() => {
    const items = lists.get(name) ?? new Map<string, Getter>();
    lists.set(name, items);
    items.set(id, getter);
    expose(name, () => [...items.values()].map((read) => read()));
    return () => {
      if (items.get(id) === getter) items.delete(id);
    };
  });
}

/** Notes what has just happened, for getters: `facts` replaces facts of the same names in the record `name`. */
export function record(name: string, facts: () => object): void {
  if (typeof TEST_HOOKS === 'undefined' || !TEST_HOOKS) return;
  records.set(name, { ...records.get(name), ...facts() });
}

/** Returns: the facts of a record; none before the first call of `record`. */
export function recorded<T extends object>(name: string): Partial<T> {
  return (records.get(name) ?? {}) as Partial<T>;
}

function makeBoard(): Record<string, Getter> {
  const found: Record<string, Getter> = {};
  const value = new Proxy({}, { get: (_, name) => (typeof name === 'string' ? found[name]?.() : undefined) });
  Object.defineProperty(window, '__board', { value });
  return found;
}
