/** Users' notes and tags of runs, by the run's name; saved beside the logs, never in them. */
import { computed } from '@preact/signals';
import { savedDocument } from '../storage/saved_document.ts';

export interface RunNote {
  text: string;
  tags: string[];
}

const MOST_TEXT = 20_000;
const MOST_TAGS = 50;
const MOST_TAG = 60;

export const notes = savedDocument<Record<string, RunNote>>('notes', {});

export function noteOf(run: string): RunNote {
  const found = Object.hasOwn(notes.value, run) ? notes.value[run] : undefined;
  return { text: String(found?.text ?? ''), tags: Array.isArray(found?.tags) ? found.tags.map(String) : [] };
}

/** Every tag that any run has, in order. */
export const everyTag = computed(() => {
  const all = new Set<string>();
  for (const run of Object.keys(notes.value)) for (const tag of noteOf(run).tags) all.add(tag);
  return [...all].sort();
});

export function setText(run: string, text: string): void {
  put(run, { ...noteOf(run), text: text.slice(0, MOST_TEXT) });
}

export function addTag(run: string, tag: string): void {
  const clean = tag.trim().replace(/\s+/g, ' ').slice(0, MOST_TAG);
  const note = noteOf(run);
  if (!clean || note.tags.includes(clean) || note.tags.length >= MOST_TAGS) return;
  put(run, { ...note, tags: [...note.tags, clean].sort() });
}

export function removeTag(run: string, tag: string): void {
  const note = noteOf(run);
  put(run, { ...note, tags: note.tags.filter((one) => one !== tag) });
}

function put(run: string, note: RunNote): void {
  const { [run]: _, ...rest } = notes.peek();
  notes.value = note.text || note.tags.length ? { ...rest, [run]: note } : rest;
}
