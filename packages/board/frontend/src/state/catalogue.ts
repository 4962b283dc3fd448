/** What the server has: runs, tags and series, updated whenever it reports a change. */
import { batch, computed, effect, signal } from '@preact/signals';
import { getColumns, getJson } from '../api/client.ts';
import { messageOf } from '../api/error_message.ts';
import { latest } from '../api/live.ts';
import type { Meta, Problem, Run, Series, Tag } from '../api/types.ts';
import { bootOf, newRuns, newSeries, type RunsReply } from './catalogue_update.ts';
import { hoveredRun, inspectedRun, inspectedTag } from './selection.ts';
import { enterBoot, serverBoot } from './server.ts';
import { type TagsHeader, tagsReplyOf } from './tags_reply.ts';

export const meta = signal<Meta | null>(null);
export const runs = signal<Run[]>([]);
export const tags = signal<Tag[]>([]);
export const series = signal<Series[]>([]);
export const problems = signal<Problem[]>([]);
/** Errors and warnings; notes are no cause for alarm. */
export const seriousProblems = computed(() => problems.value.filter(({ severity }) => severity !== 'note'));
/** False until the first response: an empty logdir and one not yet read are different screens. */
export const loaded = signal(false);
export const failure = signal<string | null>(null);

export const runById = computed(() => new Map(runs.value.map((run) => [run.id, run])));
export const tagById = computed(() => new Map(tags.value.map((tag) => [tag.id, tag])));
let keys: Series[] = [];
/** The series as they were when one last came or went: what depends on this is not renewed by new points. */
export const seriesKeys = computed(() => {
  const now = series.value;
  const same = now.length === keys.length && now.every((one, i) => isOfSame(one, keys[i]!));
  if (!same) keys = now;
  return keys;
});
const isOfSame = (a: Series, b: Series): boolean => a.tag === b.tag && a.run === b.run;

/** The ids of the runs that have a tag, in the order of the runs. */
export const runsByTag = computed(() => {
  const found = new Map<number, number[]>();
  for (const { tag, run } of seriesKeys.value) {
    const list = found.get(tag);
    if (list) list.push(run);
    else found.set(tag, [run]);
  }
  return found;
});

export const seriesByTag = computed(() => {
  const found = new Map<number, Series[]>();
  for (const one of series.value) {
    const list = found.get(one.tag);
    if (list) list.push(one);
    else found.set(one.tag, [one]);
  }
  return found;
});

const RETRY_MS = 2000;
/** So many series are decoded, kept and shown in tasks of their own: one task would block the page. */
const MANY = 5000;
const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
/** Marks of the last responses: the next requests fetch what changed since. */
const marks = { runs: '', tags: '', problems: '' };
let busy = false;
let again = false;

interface ProblemsReply {
  problems: Problem[] | null;
  mark: string;
}

/** Updates the catalogue; calls during an update cause one more update. */
export async function renew(): Promise<void> {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const [runsReply, tagsReply, problemsReply] = await Promise.all([
      getJson<RunsReply>('runs', { since: marks.runs }),
      getColumns<TagsHeader>('tags', { since: marks.tags }).then(tagsReplyOf),
      getJson<ProblemsReply>('problems', { since: marks.problems }),
    ]);
    const boot = bootOf(runsReply.mark);
    const newMeta = boot === serverBoot.peek() ? meta.peek()! : await getJson<Meta>('meta');
    const boots = [boot, bootOf(tagsReply.mark), bootOf(problemsReply.mark), newMeta.boot];
    if (boots.some((one) => one !== boot)) {
      setTimeout(() => void renew(), 300); // the server was restarted between two of the responses
      return;
    }
    const rest = tagsReply.series.length > MANY ? nextTask : () => {};
    await rest();
    batch(() => {
      const selected = boot === serverBoot.peek() ? null : selectedNames();
      enterBoot(boot);
      meta.value = newMeta;
      runs.value = newRuns(runs.peek(), runsReply);
      const known = { tags: tags.peek(), series: series.peek() };
      const next = newSeries(known, tagsReply, runs.peek(), runsReply.gone);
      if (next !== known) {
        tags.value = next.tags;
        series.value = next.series;
      }
      if (problemsReply.problems) problems.value = problemsReply.problems;
      marks.runs = runsReply.mark;
      marks.tags = tagsReply.mark;
      marks.problems = problemsReply.mark;
      selected?.();
      failure.value = null;
    });
    if (!loaded.peek()) await rest();
    loaded.value = true;
  } catch (error) {
    failure.value = messageOf(error);
    setTimeout(() => void renew(), RETRY_MS);
  } finally {
    busy = false;
    if (again) {
      again = false;
      void renew();
    }
  }
}

/** Remembers the selection by name. Returns: a function that selects it again among new ids. */
function selectedNames(): () => void {
  const run = runById.peek().get(inspectedRun.peek() ?? -1);
  const tag = tagById.peek().get(inspectedTag.peek() ?? -1);
  return () => {
    inspectedRun.value = (run && runs.peek().find((one) => one.name === run.name)?.id) ?? null;
    inspectedTag.value =
      (tag && tags.peek().find((one) => one.name === tag.name && one.kind === tag.kind)?.id) ?? null;
    hoveredRun.value = null;
  };
}

/** Least time between two updates while logs grow. */
const LEAST_BETWEEN_MS = 200;
let renewedAt = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

effect(() => {
  if (!latest.value || timer !== undefined) return;
  const wait = Math.max(0, renewedAt + LEAST_BETWEEN_MS - performance.now());
  timer = setTimeout(() => {
    timer = undefined;
    renewedAt = performance.now();
    void renew();
  }, wait);
});
