/** Signals that live in the address; a page reads and writes them as any other signal. */
import { effect, type Signal, signal } from '@preact/signals';
import { type Codec, formatAddress, parseAddress } from './url_codec.ts';

interface Bound {
  read(value: string | undefined): void;
  write(): string | null;
}

const bound = new Map<string, Bound>();
const unread = parseAddress(location.hash).parameters;
let reading = false;

/** The page that the address names. */
export const page = signal(parseAddress(location.hash).page);

/** A signal stored in the address under `key`, left out of it while it is at its default. */
export function urlSignal<T>(key: string, codec: Codec<T>, fallback: T): Signal<T> {
  const initial = unread.get(key);
  const value = signal<T>((initial === undefined ? undefined : codec.decode(initial)) ?? fallback);
  const standard = codec.encode(fallback);
  bound.set(key, {
    read: (text) => {
      const decoded = text === undefined ? undefined : codec.decode(text);
      const next = decoded === undefined ? fallback : decoded;
      if (codec.encode(next) !== codec.encode(value.peek())) value.value = next;
    },
    write: () => {
      const text = codec.encode(value.peek());
      return text === standard ? null : text;
    },
  });
  let first = true;
  effect(() => {
    void value.value;
    if (!first && !reading) schedule();
    first = false;
  });
  return value;
}

/** Goes to a page; the browser's back button comes back from there. */
export function goTo(name: string): void {
  if (page.peek() === name) return;
  flush();
  page.value = name;
  history.pushState(null, '', address());
}

/** The address of the present view, on this or on another page. */
export function address(of: string = page.peek()): string {
  const parameters = new Map<string, string>();
  for (const [key, { write }] of bound) {
    const text = write();
    if (text !== null) parameters.set(key, text);
  }
  // Parameters of pages that are not loaded yet.
  for (const [key, text] of unread) if (!bound.has(key)) parameters.set(key, text);
  return formatAddress({ page: of, parameters });
}

/** Whether the next write of the address is a new history entry. */
let isNewEntry = false;

/** Makes what changes now a step of the browser's history: the back button undoes it. */
export function beginStep(): void {
  if (reading) return;
  flush();
  isNewEntry = true;
  schedule();
}

let timer: ReturnType<typeof setTimeout> | undefined;

function schedule(): void {
  timer ??= setTimeout(flush, 150);
}

/** Whether the address names the present view; it follows a moment after a change. */
export function isAddressCurrent(): boolean {
  return timer === undefined;
}

function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  const next = address();
  if (next !== location.hash) {
    if (isNewEntry) history.pushState(null, '', next);
    else history.replaceState(null, '', next);
  }
  isNewEntry = false;
}

function readAddress(): void {
  const { page: name, parameters } = parseAddress(location.hash);
  reading = true;
  try {
    page.value = name;
    unread.clear();
    for (const [key, text] of parameters) unread.set(key, text);
    for (const [key, { read }] of bound) read(parameters.get(key));
  } finally {
    reading = false;
  }
}
addEventListener('popstate', readAddress);
addEventListener('hashchange', readAddress);
