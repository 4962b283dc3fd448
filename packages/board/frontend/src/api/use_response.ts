/** The server's response to a component's request, fetched anew when what it depends on changes. */
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from './error_message.ts';

export interface Fetched<T> {
  /** The last response; it stays while the next request is in flight, and when that fails. */
  response: T;
  /** Why the last request failed. */
  failure: string | null;
}

/**
 * Args:
 *   request: stops at the signal; null: nothing is requested.
 *   initial: stands in until there is a response.
 *   dependencies: of the request; it is sent again when one of them changes.
 */
export function useResponse<T>(
  request: ((signal: AbortSignal) => Promise<T>) | null,
  initial: T,
  dependencies: readonly unknown[],
): Fetched<T> {
  const [response, set] = useState<T>(() => initial);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    if (!request) return;
    const stop = new AbortController();
    request(stop.signal).then(
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
  }, dependencies);
  return { response, failure };
}

/** Sends the same request for each run. */
export async function ofEachRun<T>(
  runs: readonly number[],
  request: (run: number) => Promise<T>,
): Promise<Map<number, T>> {
  return new Map(await Promise.all(runs.map(async (run) => [run, await request(run)] as const)));
}
