/**
 * Follows changes on the server. A browser opens at most six connections to a host over all its pages, so only
 * one page at a time follows the server, by server-sent events or by long polls where those do not get through,
 * and broadcasts the changes to the other pages.
 */
import { effect, signal } from '@preact/signals';
import { apiUrl, getJson } from './client.ts';
import { canBroadcast, electLeader } from './leader_election.ts';
import type { Change } from './types.ts';

export type Connection = 'connecting' | 'live' | 'polling' | 'lost';
export const connection = signal<Connection>('connecting');
export const latest = signal<Change | null>(null);
/** When the last change was received, in milliseconds of the page's clock; 0: none yet. */
export const changedAt = signal(0);
/** Whether this page is the one that follows the server. */
export const leads = signal(false);

const RETRY_MS = 1000;
const POLL_S = 25;
/** A rejected stream is tried again after this long: other pages may have closed theirs. */
const POLLS_FOR_MS = 60_000;

/** What the leader sends to the other pages. */
interface Broadcast {
  connection: Connection;
  change: Change | null;
}
/** What a page sends that has just become visible. */
const REQUEST = 'what is new?';

export function follow(): void {
  const name = `headrace-news ${new URL('.', document.baseURI).pathname}`;
  const others = canBroadcast() ? new BroadcastChannel(name) : null;
  const broadcast = () => {
    const message: Broadcast = { connection: connection.peek(), change: latest.peek() };
    others?.postMessage(message);
  };
  const requestLatest = () => {
    if (!document.hidden && !leads.peek()) others?.postMessage(REQUEST);
  };
  if (others) {
    others.onmessage = ({ data }: MessageEvent<Broadcast | typeof REQUEST>) => {
      if (data === REQUEST) {
        if (leads.peek()) broadcast();
      } else if (!leads.peek()) {
        connection.value = data.connection;
        if (data.change) receive(data.change);
      }
    };
  }
  effect(() => {
    void connection.value;
    void latest.value;
    if (leads.value) broadcast();
  });
  electLeader(name, (until) => {
    leads.value = true;
    until.addEventListener('abort', () => {
      leads.value = false;
    });
    void lead(until);
  });
  document.addEventListener('visibilitychange', requestLatest);
  requestLatest();
}

async function lead(until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await stream(until);
    await poll(until, Date.now() + POLLS_FOR_MS);
  }
}

/** Receives events until the server rejects the stream or another page leads. */
function stream(until: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const source = new EventSource(apiUrl('events'));
    const end = () => {
      source.close();
      until.removeEventListener('abort', end);
      done();
    };
    until.addEventListener('abort', end);
    source.onopen = () => {
      connection.value = 'live';
    };
    source.onmessage = (message) => {
      receive(JSON.parse(message.data) as Change);
    };
    source.onerror = () => {
      // A rejected source is closed; the browser reconnects others.
      if (source.readyState === EventSource.CLOSED) end();
      else connection.value = 'lost';
    };
  });
}

async function poll(until: AbortSignal, end: number): Promise<void> {
  while (!until.aborted && Date.now() < end) {
    const { rev = -1, boot } = latest.peek() ?? {};
    try {
      const change = await getJson<Change>('changes', { since: rev, boot, wait: POLL_S }, until);
      receive(change);
      connection.value = 'polling';
      // The server responds at once when too many pages wait.
      if (change.rev !== rev || change.boot !== boot) continue;
    } catch {
      if (until.aborted) return;
      connection.value = 'lost';
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function receive(change: Change): void {
  const before = latest.peek();
  if (before && JSON.stringify(before) === JSON.stringify(change)) return;
  if (before?.rev !== change.rev || before.boot !== change.boot) changedAt.value = Date.now();
  latest.value = change;
}
