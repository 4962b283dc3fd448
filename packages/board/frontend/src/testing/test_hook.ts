/**
 * window.__board: what the page shows, for browser tests and benchmarks; read-only. Only `node build.mjs
 * --test-hooks` builds it: in the product `expose` is empty, and esbuild drops its calls.
 */

/** Set by build.mjs; there is no such name under node. */
declare const TEST_HOOKS: boolean | undefined;

let getters: Record<string, () => unknown> | null = null;

/** Adds `window.__board[name]`; the getter returns plain data. */
export function expose(name: string, getter: () => unknown): void {
  if (typeof TEST_HOOKS === 'undefined' || !TEST_HOOKS) return;
  getters ??= makeBoard();
  getters[name] = getter;
}

function makeBoard(): Record<string, () => unknown> {
  const found: Record<string, () => unknown> = {};
  const value = new Proxy({}, { get: (_, name) => (typeof name === 'string' ? found[name]?.() : undefined) });
  Object.defineProperty(window, '__board', { value });
  return found;
}
