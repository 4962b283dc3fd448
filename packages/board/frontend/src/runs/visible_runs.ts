/** The runs of the table and those of them that are drawn. */
import { computed } from '@preact/signals';
import { flag, text } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import type { Run, Series } from '../api/types.ts';
import { runs, series, tagById, tags } from '../state/catalogue.ts';
import { hparamsByRun } from '../state/hparams.ts';
import { choose, chooser, everyRun, only } from '../state/run_choice.ts';
import { runChoice } from '../state/selection.ts';
import { savedDocument } from '../storage/saved_document.ts';
import { inOrder } from '../strings/natural_order.ts';
import { noteOf } from './notes.ts';
import { parseQuery, type Value } from './run_query.ts';

/** The text of the box above the run table. */
export const runQuery = urlSignal('rq', text, '');
/** Whether archived runs are listed. */
export const showArchived = urlSignal('arch', flag, false);
/** Names of archived runs: out of sight, never deleted. */
export const archivedRuns = savedDocument<string[]>('archived', []);

export const seriesByRun = computed(() => {
  const found = new Map<number, Map<number, Series>>();
  for (const one of series.value) {
    const of = found.get(one.run);
    if (of) of.set(one.tag, one);
    else found.set(one.run, new Map([[one.tag, one]]));
  }
  return found;
});

const tagsByName = computed(() => {
  const found = new Map<string, number>();
  for (const tag of tags.value) {
    if (tag.kind !== 'scalar') continue;
    found.set(tag.name, tag.id);
    const short = tag.name.slice(tag.name.lastIndexOf('/') + 1);
    if (!found.has(short)) found.set(short, tag.id);
  }
  return found;
});

/** A value of a run by the name of a hyperparameter, a tag, or one of name, tags, steps, restarts, start, live. */
export function runValue(run: Run, field: string, of: 'last' | 'min' | 'max' = 'last'): Value {
  if (field === 'name') return run.name;
  const parameter = hparamsByRun.value.get(run.id)?.[field];
  if (parameter !== undefined) return parameter;
  const tag = tagsByName.value.get(field);
  if (tag !== undefined) return seriesByRun.value.get(run.id)?.get(tag)?.[of];
  if (field === 'live') return run.live;
  if (field === 'start') return run.start;
  if (field === 'restarts') return Math.max(0, run.segments - 1);
  if (field === 'tags') return noteOf(run.name).tags.join(', ') || undefined;
  if (field === 'steps') {
    let most: number | undefined;
    for (const one of seriesByRun.value.get(run.id)?.values() ?? []) {
      if (tagById.value.get(one.tag)?.kind === 'scalar') most = Math.max(most ?? 0, one.lastStep);
    }
    return most;
  }
  return undefined;
}

export const query = computed(() => parseQuery(runQuery.value));

const archived = computed(() => new Set(archivedRuns.value));

/** The runs that the table lists, in natural order of their names. */
export const listedRuns = computed(() => {
  const { matches } = query.value;
  return inOrder(runs.value).filter(
    (run) =>
      (showArchived.value || !archived.value.has(run.name)) &&
      matches({
        name: run.name,
        field: (name, of) => runValue(run, name, of),
        labels: () => noteOf(run.name).tags,
      }),
  );
});

/** The runs that are drawn: listed, and chosen by their boxes. */
export const visibleRuns = computed(() => {
  const chosen = chooser(runChoice.value);
  return listedRuns.value.filter((run) => chosen(run.name));
});

export const visibleRunIds = computed(() => new Set(visibleRuns.value.map((run) => run.id)));

/** Shows or hides runs, by their names. */
export function setRunsShown(names: string[], on: boolean): void {
  const every = runs.value.map((run) => run.name);
  runChoice.value = choose(runChoice.value, names, on, every);
}

export function showOnly(names: string[]): void {
  runChoice.value = only(names);
}

export function showEveryRun(): void {
  runChoice.value = everyRun;
}

export function archive(names: string[], on: boolean): void {
  const rest = archivedRuns.value.filter((name) => !names.includes(name));
  archivedRuns.value = on ? [...rest, ...names] : rest;
}
