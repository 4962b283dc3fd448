/** Documents that outlive the page: in the server's state file if it has one, else in the browser. */
import { effect, type Signal, signal } from '@preact/signals';
import { getJson, sendJson } from '../api/client.ts';
import { meta } from './catalogue.ts';

const SAVE_AFTER_MS = 400;

/** A signal whose value is kept under a name; documents are small (at most 1 MB). */
export function stored<T>(name: string, fallback: T): Signal<T> {
  const value = signal<T>(local<T>(name) ?? fallback);
  let base = 0;
  let known = JSON.stringify(value.peek());
  let timer: ReturnType<typeof setTimeout> | undefined;
  let shared = false;

  async function read(): Promise<void> {
    const reply = await getJson<{ document: T | null; revision?: number }>(`state/${name}`);
    base = reply.revision ?? 0;
    if (reply.document !== null && reply.document !== undefined) {
      known = JSON.stringify(reply.document);
      value.value = reply.document;
    }
  }

  async function save(): Promise<void> {
    const document = value.peek();
    known = JSON.stringify(document);
    try {
      localStorage.setItem(`headrace.${name}`, known);
    } catch {
      // storage is forbidden: the choice lasts as long as the page
    }
    if (!shared) return;
    try {
      const reply = await sendJson<{ revision?: number }>('PUT', `state/${name}`, { base, document });
      base = reply.revision ?? base + 1;
    } catch {
      await read().catch(() => undefined); // someone else was faster: theirs stands
    }
  }

  effect(() => {
    if (shared || !meta.value || meta.value.read_only) return;
    shared = true;
    void read().catch(() => {
      shared = false;
    });
  });
  effect(() => {
    if (JSON.stringify(value.value) === known) return;
    clearTimeout(timer);
    timer = setTimeout(() => void save(), SAVE_AFTER_MS);
  });
  return value;
}

function local<T>(name: string): T | null {
  try {
    const text = localStorage.getItem(`headrace.${name}`);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}
