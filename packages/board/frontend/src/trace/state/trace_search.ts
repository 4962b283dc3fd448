/** Finds nodes of a trace by a pattern, and steps through their slices. */
import { effect, signal } from '@preact/signals';
import { messageOf } from '../../api/error_message.ts';
import { startWorker } from '../../browser/workers.ts';
import { PatternSearch } from '../../search/pattern_search.ts';
import { pattern } from '../address/address_fields.ts';
import { fetchPlaces, type Place, type TraceNames } from '../data/trace_api.ts';
import { namesOf } from '../data/trace_names.ts';
import { goToSlice } from './trace_selection.ts';
import { mainTrace } from './trace_state.ts';

/** The most names in one request. */
const NAMES_AT_ONCE = 1000;
const CALLS_AT_ONCE = 4;
/** The most slices to step through; the count includes all. */
const MOST_PLACES = 5000;
const TYPING_MS = 80;

export interface Found {
  pattern: string;
  /** All matching names. */
  names: ReadonlySet<string>;
  /** The first of their slices, by time. */
  places: Place[];
  /** The number of all slices, listed or not. */
  total: number;
  /** The index of the current place; -1 before the first. */
  at: number;
  wrong: 'invalid' | 'slow' | 'failed' | null;
  message: string;
}

export const found = signal<Found | null>(null);
/** Grows when the search box is to take the focus. */
export const findRequests = signal(0);

let known: {
  trace: number;
  names: TraceNames;
  search: PatternSearch<string[], ArrayLike<number>>;
} | null = null;
let serial = 0;
let stop = new AbortController();

/** Fetches the names of a trace and starts their worker, so that the first search is fast. */
export async function warm(trace: number): Promise<NonNullable<typeof known>> {
  if (known?.trace === trace) return known;
  const names = await namesOf(trace);
  if (known?.trace === trace) return known;
  known?.search.close();
  const search = new PatternSearch<string[], ArrayLike<number>>(names.names, (failed) =>
    startWorker('names', failed),
  );
  search.warm();
  known = { trace, names, search };
  return known;
}

/** Searches for a pattern, which is stopped when it takes too long. */
export async function find(text: string): Promise<void> {
  const mine = ++serial;
  stop.abort();
  stop = new AbortController();
  const { signal: ended } = stop;
  const model = mainTrace.peek();
  if (!text || !model) {
    found.value = null;
    return;
  }
  const none: Found = {
    pattern: text,
    names: new Set(),
    places: [],
    total: 0,
    at: -1,
    wrong: null,
    message: '',
  };
  try {
    const { names, search } = await warm(model.id);
    if (mine !== serial) return;
    const reply = await search.find(text);
    if (!reply || mine !== serial) return;
    if (reply.kind !== 'found') {
      found.value = { ...none, wrong: reply.kind, message: reply.text };
      return;
    }
    const ids = Array.from(reply.found);
    const matching = new Set(ids.map((i) => names.names[i]!));
    const total = ids.reduce((n, i) => n + names.counts[i]!, 0);
    const places = await placesOf(model.id, ids, ended);
    if (mine === serial) found.value = { ...none, names: matching, places, total };
  } catch (error) {
    if (mine !== serial) return;
    const message = messageOf(error);
    found.value = { ...none, wrong: 'failed', message };
  }
}

/** The first MOST_PLACES slices of names, by time. */
async function placesOf(trace: number, ids: number[], ended: AbortSignal): Promise<Place[]> {
  const calls: number[][] = [];
  for (let i = 0; i < ids.length; i += NAMES_AT_ONCE) calls.push(ids.slice(i, i + NAMES_AT_ONCE));
  let all: Place[] = [];
  for (let i = 0; i < calls.length; i += CALLS_AT_ONCE) {
    const replies = await Promise.all(
      calls.slice(i, i + CALLS_AT_ONCE).map((names) => fetchPlaces(trace, { names }, ended)),
    );
    all = all.concat(...replies.map((reply) => reply.places));
    all.sort((a, b) => a.start - b.start || a.slice - b.slice);
    all.length = Math.min(all.length, MOST_PLACES);
  }
  return all;
}

/** Goes to the next or the previous slice that was found. */
export async function goToFound(by: 1 | -1): Promise<void> {
  const now = found.peek();
  const model = mainTrace.peek();
  if (!now?.places.length || !model) return;
  const from = now.at < 0 && by < 0 ? 0 : now.at;
  const at = (from + by + now.places.length) % now.places.length;
  found.value = { ...now, at };
  await goToSlice(model.id, now.places[at]!.slice);
}

/** Searches anew whenever pattern or trace change. Returns: a function that ends it. */
export function followPattern(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = effect(() => {
    const text = pattern.value;
    void mainTrace.value;
    clearTimeout(timer);
    timer = setTimeout(() => void find(text), TYPING_MS);
  });
  return () => {
    clearTimeout(timer);
    end();
  };
}
