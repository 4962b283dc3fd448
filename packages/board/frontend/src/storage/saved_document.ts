/**
 * Documents that outlive the page: in the server's state file if it has one, else in the browser.
 *
 * The browser keeps two things apart: `NAME` is the document of boards without a state file, and `NAME.shared`
 * the last known one of a state file, with what it was made from while it could not be saved.
 */
import { computed, effect, type Signal, signal } from '@preact/signals';
import { getJson, sendJson } from '../api/client.ts';
import { connection } from '../api/live.ts';
import { onLocalChange, readLocal, writeLocal } from '../browser/local_storage.ts';
import { meta } from '../state/catalogue.ts';
import { onServerRestart } from '../state/server.ts';
import { createSaver, type Saver, type SaveState } from './saver.ts';
import { mergeChanges, same } from './three_way_merge.ts';

const SAVE_AFTER_MS = 400;
const RETRY_MS = 1000;
const MOST_RETRY_MS = 30_000;

interface Shared<T> {
  board: string;
  document: T;
  /** Only while the document has changes that are not saved. */
  base?: T;
}

const saveStates = signal(new Map<string, SaveState>());
const savers: Saver<unknown>[] = [];

/** The documents that have changes which are not saved, and why. */
export const unsaved = computed(() =>
  [...saveStates.value].flatMap(([name, state]) =>
    state.state === 'retrying' || state.state === 'rejected' ? [{ name, ...state }] : [],
  ),
);

export function saveAgain(): void {
  for (const saver of savers) saver.save();
}

function setSaveState(name: string, state: SaveState): void {
  saveStates.value = new Map(saveStates.peek()).set(name, state);
}

/** A signal whose value is saved under a name: a list, or an object whose keys are merged one by one. */
export function savedDocument<T extends object>(name: string, fallback: T): Signal<T> {
  const fitting = (document: unknown): T | undefined =>
    typeof document === 'object' && document !== null && Array.isArray(document) === Array.isArray(fallback)
      ? (document as T)
      : undefined;
  const cached = readLocal(`${name}.shared`) as Shared<T> | undefined;
  const cachedDocument = fitting(cached?.document);
  const initial = cachedDocument ?? fitting(readLocal(name)) ?? fallback;
  const value = signal<T>(initial);
  let place: 'unknown' | 'browser' | 'server' = 'unknown';
  let saver: Saver<T> | null = null;
  let local = initial; // what the browser keeps for boards without a state file

  function remember(): void {
    const document = value.peek();
    if (place === 'browser' && !same(document, local)) {
      local = document;
      const isKept = writeLocal(name, document);
      setSaveState(
        name,
        isKept ? { state: 'saved' } : { state: 'rejected', why: 'the browser’s storage is full' },
      );
    } else if (place === 'server' && saver) {
      const base = saver.base();
      const board = meta.peek()?.logdir ?? '';
      const shared: Shared<T> = same(document, base) ? { board, document } : { board, document, base };
      if (!same(shared, readLocal(`${name}.shared`))) writeLocal(`${name}.shared`, shared);
    }
  }

  function useBrowser(): void {
    place = 'browser';
    local = fitting(readLocal(name)) ?? fallback;
    value.value = mergeChanges(initial, value.peek(), local) as T;
    onLocalChange(name, (document) => {
      if (place !== 'browser') return;
      const theirs = fitting(document) ?? fallback;
      value.value = mergeChanges(local, value.peek(), theirs) as T;
      local = theirs;
    });
  }

  function useServer(board: string): void {
    place = 'server';
    const isUnsaved = cached?.board === board && cached.base !== undefined;
    saver = createSaver<T>({
      mine: {
        peek: () => value.peek(),
        set: (document) => {
          value.value = document;
        },
      },
      base: isUnsaved ? (fitting(cached.base) ?? fallback) : initial,
      empty: fallback,
      adopts: cachedDocument === undefined || isUnsaved,
      remote: {
        read: async () => {
          const reply = await getJson<{ document: unknown; revision: number }>(`state/${name}`);
          return { document: fitting(reply.document) ?? null, revision: reply.revision };
        },
        write: async (base, document) =>
          (await sendJson<{ revision: number }>('PUT', `state/${name}`, { base, document })).revision,
      },
      onState: (state) => {
        setSaveState(name, state);
        if (state.state !== 'saving') remember();
      },
      later: (call, failures) => {
        setTimeout(call, Math.min(MOST_RETRY_MS, RETRY_MS * 2 ** (failures - 1)));
      },
    });
    savers.push(saver as Saver<unknown>);
    saver.save();
    onLocalChange(`${name}.shared`, (shared) => {
      // Another page has saved; what is not saved yet is that page's business.
      const other = shared as Shared<T> | undefined;
      if (other && other.base === undefined && !same(other.document, value.peek())) saver?.refresh();
    });
  }

  effect(() => {
    const now = meta.value;
    if (!now || place === 'server') return;
    if (!now.read_only) useServer(now.logdir);
    else if (place === 'unknown') useBrowser();
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let seen = initial;
  const settle = () => {
    clearTimeout(timer);
    timer = undefined;
    remember();
    saver?.save();
  };
  effect(() => {
    if (value.value === seen) return;
    seen = value.value;
    clearTimeout(timer);
    timer = setTimeout(settle, SAVE_AFTER_MS);
  });
  addEventListener('pagehide', () => {
    if (timer !== undefined) settle();
  });
  return value;
}

const refreshAll = () => {
  for (const saver of savers) saver.refresh();
};
onServerRestart(refreshAll);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) refreshAll();
});
effect(() => {
  if (connection.value === 'live' && unsaved.peek().some((one) => one.state === 'retrying')) saveAgain();
});
