/** Saves one document to the server: one request at a time, merged with what others saved meanwhile. */
import { messageOf } from '../api/error_message.ts';
import { mergeChanges, same } from './three_way_merge.ts';

export interface Remote<T> {
  /** What is saved; null: nothing yet. */
  read(): Promise<{ document: T | null; revision: number }>;
  /** Saves a change of the document that has this revision, and gives the new one. */
  write(revision: number, document: T): Promise<number>;
}

/** `retrying` is tried again after a while, `rejected` with the next change. */
export type SaveState =
  | { state: 'saved' }
  | { state: 'saving' }
  | { state: 'retrying'; why: string }
  | { state: 'rejected'; why: string };

export interface Saver<T> {
  /** Saves what the page has now, if that is something else than what is saved. */
  save(): void;
  /** Reads what is saved now, and then saves. */
  refresh(): void;
  /** What the server has, as far as is known. */
  base(): T;
}

export interface SaverOptions<T> {
  /** The page's document. */
  mine: { peek(): T; set(document: T): void };
  /** What the page's changes were made to. */
  base: T;
  /** In place of a document that is not there. */
  empty: T;
  /** Whether the page's document is saved where none was saved before. */
  adopts: boolean;
  remote: Remote<T>;
  onState: (state: SaveState) => void;
  /** Calls back later; the number grows with each failure in a row. */
  later: (call: () => void, failures: number) => void;
}

/** The status of a failed request, or 0 where none came. */
export function statusOf(error: unknown): number {
  const status = (error as { status?: unknown } | null)?.status;
  return typeof status === 'number' ? status : 0;
}

export function createSaver<T>({
  mine,
  base,
  empty,
  adopts,
  remote,
  onState,
  later,
}: SaverOptions<T>): Saver<T> {
  let revision = 0;
  let busy = false;
  let again = false;
  let failures = 0;
  let stale = true;

  async function rebase(): Promise<void> {
    stale = false;
    const reply = await remote.read().catch((error) => {
      stale = true;
      throw error;
    });
    const theirs = reply.document ?? empty;
    const merged =
      reply.document === null && adopts ? mine.peek() : (mergeChanges(base, mine.peek(), theirs) as T);
    base = theirs;
    revision = reply.revision;
    adopts = true; // a file that is deleted while the page is open removes nothing from the page
    if (!same(merged, mine.peek())) mine.set(merged);
  }

  async function run(): Promise<void> {
    for (;;) {
      if (stale) await rebase();
      const document = mine.peek();
      if (same(document, base)) return;
      onState({ state: 'saving' });
      try {
        revision = await remote.write(revision, document);
        base = document;
        failures = 0;
      } catch (error) {
        if (statusOf(error) !== 409) throw error;
        stale = true; // another page saved first
      }
    }
  }

  function save(): void {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    again = false;
    run()
      .then(
        () => onState({ state: 'saved' }),
        (error) => {
          const status = statusOf(error);
          const why = messageOf(error);
          // A server that is busy, broken or away may accept it later; what it rejects it would reject again.
          const canRetry = status === 0 || status >= 500 || status === 408 || status === 429;
          if (canRetry) later(save, ++failures);
          onState({ state: canRetry ? 'retrying' : 'rejected', why });
        },
      )
      .finally(() => {
        busy = false;
        if (again) save();
      });
  }

  const refresh = () => {
    stale = true;
    save();
  };
  return { save, refresh, base: () => base };
}
