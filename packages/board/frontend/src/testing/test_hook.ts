/** window.__board: what is on the screen, for tests and for the curious. Read-only. */

const getters: Record<string, () => unknown> = {};

/** Adds `window.__board[name]`; the getter answers with plain data. */
export function expose(name: string, getter: () => unknown): void {
  getters[name] = getter;
}

Object.defineProperty(window, '__board', {
  value: new Proxy(
    {},
    {
      get: (_, name) => (typeof name === 'string' ? getters[name]?.() : undefined),
      ownKeys: () => Object.keys(getters),
      getOwnPropertyDescriptor: (_, name) =>
        name in getters
          ? { enumerable: true, configurable: true, value: getters[name as string]?.() }
          : undefined,
    },
  ),
});
