/** The texts of one event, asked for when they are shown, and the search through all of them. */
import { getJson } from '../api/client.ts';

export interface TextRow {
  row: number;
  step: number;
  wall: number;
  readable: boolean;
  /** Row-major, of the given shape. */
  values: string[];
  shape: number[];
  /** Some of it is not here: it is too long. */
  cut: boolean;
}

const MOST_KEPT = 400;
const kept = new Map<string, Promise<TextRow | null>>();

export function textOf(run: number, tag: number, row: number, step: number): Promise<TextRow | null> {
  const key = `${run} ${tag} ${row} ${step}`;
  let found = kept.get(key);
  if (!found) {
    const page = getJson<{ rows: TextRow[] }>('text', { run, tag, from: row, count: 1 });
    found = page.then((reply) => reply.rows[0] ?? null);
    found.catch(() => kept.delete(key));
    kept.set(key, found);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
  }
  return found;
}

export interface Search {
  total: number;
  rows: TextRow[];
  complete: boolean;
}

export function searchTexts(run: number, tag: number, q: string, signal: AbortSignal): Promise<Search> {
  return getJson<Search>('text', { run, tag, q, count: 50 }, signal);
}
