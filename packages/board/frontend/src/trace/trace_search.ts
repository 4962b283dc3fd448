/** Finds nodes of a trace by a pattern, and goes from one to the next. */
import { effect, signal } from '@preact/signals';
import { startWorker } from '../shell/workers.ts';
import { reveal } from './time_view.ts';
import { fetchNames, fetchPlaces, fetchSlice, type Place } from './trace_api.ts';
import { duration, mainTrace, selectSlice, timeView, windowOfTime } from './trace_state.ts';

const MOST_TIME_MS = 250;
const MOST_NAMES = 500;

export interface Found {
  pattern: string;
  names: Set<string>;
  places: Place[];
  nameOf: Map<number, string>;
  /** All slices, also those that are not listed. */
  total: number;
  /** Which of the places is shown; -1 before the first. */
  at: number;
  error: string | null;
}

export const pattern = signal('');
export const found = signal<Found | null>(null);
/** Whether the box is asked for: it takes the focus. */
export const askToFind = signal(0);

let worker: Worker | null = null;
let workerTrace = -1;
let names: string[] = [];
let serial = 0;

async function workerOf(trace: number): Promise<Worker> {
  if (workerTrace !== trace) {
    names = await fetchNames(trace);
    workerTrace = trace;
    worker?.terminate();
    worker = null;
  }
  if (!worker) {
    worker = startWorker('trace_names');
    worker.postMessage({ names });
  }
  return worker;
}

interface Answer {
  serial: number;
  found?: number[];
  count?: number;
  error?: string;
}

/** Searches; a pattern that takes too long is stopped, and its worker with it. */
export async function find(text: string): Promise<void> {
  const mine = ++serial;
  const model = mainTrace.peek();
  if (!text || !model) {
    found.value = null;
    return;
  }
  const at = await workerOf(model.id);
  if (mine !== serial) return;
  const answer = await new Promise<Answer>((resolve) => {
    const timer = setTimeout(() => {
      at.terminate();
      if (worker === at) worker = null;
      resolve({ serial: mine, error: 'the pattern takes too long' });
    }, MOST_TIME_MS);
    at.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.serial !== mine) return;
      clearTimeout(timer);
      resolve(data);
    };
    at.postMessage({ serial: mine, pattern: text, most: MOST_NAMES });
  });
  if (mine !== serial) return;
  const ids = answer.found ?? [];
  const empty = { pattern: text, places: [], nameOf: new Map(), total: 0, at: -1 };
  if (answer.error || !ids.length) {
    found.value = { ...empty, names: new Set(), error: answer.error ?? null };
    return;
  }
  const { places, total } = await fetchPlaces(model.id, { names: ids });
  if (mine !== serial) return;
  const nameOf = new Map<number, string>();
  found.value = { ...empty, names: new Set(ids.map((i) => names[i]!)), places, nameOf, total, error: null };
}

/** Goes to the next slice that was found, or the one before. */
export async function goToFound(by: 1 | -1): Promise<void> {
  const now = found.peek();
  const model = mainTrace.peek();
  if (!now?.places.length || !model) return;
  const at = (now.at + by + now.places.length) % now.places.length;
  found.value = { ...now, at };
  const place = now.places[at]!;
  windowOfTime.value = reveal(timeView.peek(), place.start, place.start + place.dur, duration.peek());

  const details = await fetchSlice(model.id, place.slice).catch(() => null);
  if (details && found.peek()?.at === at) selectSlice(model.id, details);
}

let timer: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  const text = pattern.value;
  void mainTrace.value;
  clearTimeout(timer);
  timer = setTimeout(() => void find(text).catch(() => undefined), 80);
});
