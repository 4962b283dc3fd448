/** Saves one document to the server: one request at a time, joined with what others saved meanwhile. */
import { messageOf } from '../api/error_message.ts';
import { joinChanges, same } from './three_way_merge.ts';

export interface Remote<T> {
  /** What is saved; null: nothing yet. */
  read(): Promise<{ document: T | null; revision: number }>;
  /** Saves a change of the document that has this revision, and gives the new one. */
  write(revision: number, document: T): Promise<number>;
}

/** How it stands: `late` is tried again by itself, `refused` with the next change. */
export type Standing =
  | { state: 'saved' }
  | { state: 'saving' }
  | { state: 'late'; why: string }
  | { state: 'refused'; why: string };

export interface Saver<T> {
  /** Saves what the page has now, if that is something else than what is saved. */
  save(): void;
  /** Asks what is saved now, and then saves. */
  refresh(): void;
  /** What the server has, as far as is known. */
  base(): T;
}

export interface SaverOptions<T> {
  /** The page's document. */
  mine: { peek(): T; set(document: T): void };
  /** What the page's changes were made to. */
  base: T;
  /** Stands where nothing is saved. */
  empty: T;
  /** Whether the page's document is saved where nothing was saved before. */
  adopts: boolean;
  remote: Remote<T>;
  told: (standing: Standing) => void;
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
  told,
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
    const joined =
      reply.document === null && adopts ? mine.peek() : (joinChanges(base, mine.peek(), theirs) as T);
    base = theirs;
    revision = reply.revision;
    adopts = true; // a file that went while the page was open takes nothing away from the page
    if (!same(joined, mine.peek())) mine.set(joined);
  }

  async function run(): Promise<void> {
    for (;;) {
      if (stale) await rebase();
      const document = mine.peek();
      if (same(document, base)) return;
      told({ state: 'saving' });
      try {
        revision = await remote.write(revision, document);
        base = document;
        failures = 0;
      } catch (error) {
        if (statusOf(error) !== 409) throw error;
        stale = true; // somebody else was faster
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
        () => told({ state: 'saved' }),
        (error) => {
          const status = statusOf(error);
          const why = messageOf(error);
          // A busy or broken server, or none: later. What it does not want it will not want later.
          const isLate = status === 0 || status >= 500 || status === 408 || status === 429;
          if (isLate) later(save, ++failures);
          told({ state: isLate ? 'late' : 'refused', why });
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
