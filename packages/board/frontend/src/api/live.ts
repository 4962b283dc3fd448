/**
 * Hears of changes as they happen. A browser opens six connections to a host over all its pages, so only one
 * page at a time follows the server, by server-sent events or by long polls where those do not get through,
 * and tells the others.
 */
import { effect, signal } from '@preact/signals';
import { apiUrl, getJson } from './client.ts';
import { canTell, takeTurns } from './leader_election.ts';
import type { Change } from './types.ts';

export type Connection = 'connecting' | 'live' | 'polling' | 'lost';
export const connection = signal<Connection>('connecting');
export const latest = signal<Change | null>(null);
/** When the last change came, in milliseconds of the page's clock; 0: none yet. */
export const heard = signal(0);
/** Whether this page is the one that follows the server. */
export const leads = signal(false);

const RETRY_MS = 1000;
const POLL_S = 25;
/** A refused stream is tried again after this long: other pages may have gone. */
const POLLS_FOR_MS = 60_000;

interface Told {
  connection: Connection;
  change: Change | null;
}
const ASK = 'what is new?';

export function follow(): void {
  const name = `headrace-news ${new URL('.', document.baseURI).pathname}`;
  const others = canTell() ? new BroadcastChannel(name) : null;
  const tell = () => {
    const told: Told = { connection: connection.peek(), change: latest.peek() };
    others?.postMessage(told);
  };
  const ask = () => {
    if (!document.hidden && !leads.peek()) others?.postMessage(ASK);
  };
  if (others) {
    others.onmessage = ({ data }: MessageEvent<Told | typeof ASK>) => {
      if (data === ASK) {
        if (leads.peek()) tell();
      } else if (!leads.peek()) {
        connection.value = data.connection;
        if (data.change) hear(data.change);
      }
    };
  }
  effect(() => {
    void connection.value;
    void latest.value;
    if (leads.value) tell();
  });
  takeTurns(name, (until) => {
    leads.value = true;
    until.addEventListener('abort', () => {
      leads.value = false;
    });
    void lead(until);
  });
  document.addEventListener('visibilitychange', ask);
  ask();
}

async function lead(until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await stream(until);
    await poll(until, Date.now() + POLLS_FOR_MS);
  }
}

/** Listens until the server refuses to be listened to, or the turn ends. */
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
      hear(JSON.parse(message.data) as Change);
    };
    source.onerror = () => {
      // A source that was refused is closed; others are tried again by the browser.
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
      hear(change);
      connection.value = 'polling';
      // The server answers at once where many wait.
      if (change.rev !== rev || change.boot !== boot) continue;
    } catch {
      if (until.aborted) return;
      connection.value = 'lost';
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function hear(change: Change): void {
  const before = latest.peek();
  if (before && JSON.stringify(before) === JSON.stringify(change)) return;
  if (before?.rev !== change.rev || before.boot !== change.boot) heard.value = Date.now();
  latest.value = change;
}
