/** Hears of changes as they happen: server-sent events, or long polls where those do not get through. */
import { signal } from '@preact/signals';
import { apiUrl, getJson } from './client.ts';
import type { Change } from './types.ts';

export type Connection = 'connecting' | 'live' | 'polling' | 'lost';
export const connection = signal<Connection>('connecting');
export const latest = signal<Change | null>(null);
/** When the last change came, in milliseconds of the page's clock; 0: none yet. */
export const heard = signal(0);

const RETRY_MS = 1000;

export function follow(): () => void {
  let stopped = false;
  let source: EventSource | null = null;

  async function poll(): Promise<void> {
    while (!stopped) {
      try {
        const since = latest.value?.rev ?? -1;
        hear(await getJson<Change>('changes', { since, wait: 25 }));
        connection.value = 'polling';
      } catch {
        connection.value = 'lost';
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  function listen(): void {
    source = new EventSource(apiUrl('events'));
    source.onopen = () => {
      connection.value = 'live';
    };
    source.onmessage = (message) => {
      hear(JSON.parse(message.data) as Change);
    };
    source.onerror = () => {
      // A closed source was refused (too many pages are open); others are tried again by the browser.
      connection.value = 'lost';
      if (source?.readyState === EventSource.CLOSED) void poll();
    };
  }

  listen();
  return () => {
    stopped = true;
    source?.close();
  };
}

function hear(change: Change): void {
  if (latest.peek()?.rev === change.rev && latest.peek()?.loading === change.loading) return;
  heard.value = Date.now();
  latest.value = change;
}
