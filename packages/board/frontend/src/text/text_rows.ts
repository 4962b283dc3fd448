/** The texts of one event, fetched when they are shown, and the search through all of them. */
import { getJson } from '../api/client.ts';
import { type Place, placeKey } from '../media/blob_rows.ts';

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

const MOST_CACHED = 400;
const cached = new Map<string, Promise<TextRow | null>>();

/** The texts of an event; null: the server has lost it. A failed request is sent again at the next call. */
export function textOf(place: Place): Promise<TextRow | null> {
  const key = placeKey(place);
  let found = cached.get(key);
  if (!found) {
    const { run, tag, row } = place;
    const page = getJson<{ rows: TextRow[] }>('text', { run, tag, row });
    found = page.then((reply) => reply.rows[0] ?? null);
    found.catch(() => cached.delete(key));
    cached.set(key, found);
    if (cached.size > MOST_CACHED) cached.delete(cached.keys().next().value!);
  }
  return found;
}

/** What a search found in one run. */
export interface Search {
  /** Rows that have it, of those searched. */
  total: number;
  /** The first of them. */
  rows: TextRow[];
  searched: number;
  /** Every row was looked into. */
  complete: boolean;
}

export const MOST_HITS = 100;

export function searchTexts(run: number, tag: number, q: string, signal: AbortSignal): Promise<Search> {
  return getJson<Search>('text', { run, tag, q, count: MOST_HITS }, signal);
}

const PAGE = 200;

/** Every text of a run, in order of step. */
export async function allTexts(run: number, tag: number): Promise<TextRow[]> {
  const rows: TextRow[] = [];
  for (;;) {
    const from = rows.length;
    const page = await getJson<{ total: number; rows: TextRow[] }>('text', { run, tag, from, count: PAGE });
    rows.push(...page.rows);
    if (page.rows.length === 0 || rows.length >= page.total) return rows;
  }
}
