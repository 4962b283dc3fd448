/** What the server answers to a card, asked anew when what it depends on changes. */
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from './error_message.ts';

export interface Answered<T> {
  /** The last answer; it stays while the next is on its way, and when that fails. */
  answer: T;
  /** Why the last question failed. */
  failure: string | null;
}

/**
 * Args:
 *   ask: stops at the signal; null: nothing is asked.
 *   start: until there is an answer.
 *   about: what the question depends on.
 */
export function useAnswer<T>(
  ask: ((signal: AbortSignal) => Promise<T>) | null,
  start: T,
  about: readonly unknown[],
): Answered<T> {
  const [answer, set] = useState<T>(() => start);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    if (!ask) return;
    const stop = new AbortController();
    ask(stop.signal).then(
      (found) => {
        if (stop.signal.aborted) return;
        set(() => found);
        setFailure(null);
      },
      (error) => {
        if (!stop.signal.aborted) setFailure(messageOf(error));
      },
    );
    return () => stop.abort();
  }, about);
  return { answer, failure };
}

/** Asks the same of each run. */
export async function ofEachRun<T>(
  runs: readonly number[],
  ask: (run: number) => Promise<T>,
): Promise<Map<number, T>> {
  return new Map(await Promise.all(runs.map(async (run) => [run, await ask(run)] as const)));
}
