/** What the server has: runs, tags and series, renewed whenever it says that something changed. */
import { computed, effect, signal } from '@preact/signals';
import { getJson } from '../api/client.ts';
import { latest } from '../api/live.ts';
import type { Meta, Problem, Run, Series, Tag } from '../api/types.ts';

export const meta = signal<Meta | null>(null);
export const runs = signal<Run[]>([]);
export const tags = signal<Tag[]>([]);
export const series = signal<Series[]>([]);
export const problems = signal<Problem[]>([]);
/** False until the first answer: an empty logdir and one not yet read are different screens. */
export const loaded = signal(false);
export const failure = signal<string | null>(null);

export const runById = computed(() => new Map(runs.value.map((run) => [run.id, run])));
export const runByName = computed(() => new Map(runs.value.map((run) => [run.name, run])));
export const tagById = computed(() => new Map(tags.value.map((tag) => [tag.id, tag])));
export const seriesByTag = computed(() => {
  const found = new Map<number, Series[]>();
  for (const one of series.value) {
    const list = found.get(one.tag);
    if (list) list.push(one);
    else found.set(one.tag, [one]);
  }
  return found;
});

type Cell = number | string;
type SeriesColumns = Record<
  | 'tag'
  | 'run'
  | 'n'
  | 'first_step'
  | 'last_step'
  | 'first_wall'
  | 'last_wall'
  | 'last'
  | 'min'
  | 'max'
  | 'nan',
  Cell[]
>;

let busy = false;
let again = false;

/** Renews the catalogue; calls that come meanwhile are one more renewal. */
export async function renew(): Promise<void> {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const [newRuns, newTags, newProblems] = await Promise.all([
      getJson<{ runs: Run[] }>('runs'),
      getJson<{ tags: Tag[]; series: SeriesColumns }>('tags'),
      getJson<{ problems: Problem[] }>('problems'),
    ]);
    meta.value ??= await getJson<Meta>('meta');
    runs.value = newRuns.runs;
    tags.value = newTags.tags;
    series.value = rows(newTags.series);
    problems.value = newProblems.problems;
    failure.value = null;
    loaded.value = true;
  } catch (error) {
    failure.value = error instanceof Error ? error.message : String(error);
  } finally {
    busy = false;
    if (again) {
      again = false;
      void renew();
    }
  }
}

function rows(columns: SeriesColumns): Series[] {
  return columns.tag.map((tag, i) => ({
    tag: Number(tag),
    run: Number(columns.run[i]),
    n: Number(columns.n[i]),
    firstStep: Number(columns.first_step[i]),
    lastStep: Number(columns.last_step[i]),
    firstWall: Number(columns.first_wall[i]),
    lastWall: Number(columns.last_wall[i]),
    last: Number(columns.last[i]),
    min: Number(columns.min[i]),
    max: Number(columns.max[i]),
    nan: Number(columns.nan[i]),
  }));
}

effect(() => {
  if (latest.value) void renew();
});
