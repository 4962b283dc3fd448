/** What the server has: runs, tags and series, renewed whenever it says that something changed. */
import { batch, computed, effect, type Signal, signal } from '@preact/signals';
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

const RETRY_MS = 2000;
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
    const [newRuns, newTags, newProblems, newMeta] = await Promise.all([
      getJson<{ runs: Run[] }>('runs'),
      getJson<{ tags: Tag[]; series: SeriesColumns }>('tags'),
      getJson<{ problems: Problem[] }>('problems'),
      meta.peek() ?? getJson<Meta>('meta'),
    ]);
    batch(() => {
      meta.value = newMeta;
      keep(runs, newRuns.runs);
      keep(tags, newTags.tags);
      series.value = rows(newTags.series);
      keep(problems, newProblems.problems);
      failure.value = null;
      loaded.value = true;
    });
  } catch (error) {
    failure.value = error instanceof Error ? error.message : String(error);
    setTimeout(() => void renew(), RETRY_MS);
  } finally {
    busy = false;
    if (again) {
      again = false;
      void renew();
    }
  }
}

/** What has not changed stays the same object, so that nothing that depends on it is made again. */
function keep<T>(into: Signal<T>, value: T): void {
  if (JSON.stringify(into.peek()) !== JSON.stringify(value)) into.value = value;
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

/** Between two renewals while logs grow: what people see as at once. */
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
