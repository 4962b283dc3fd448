/** Merges a response into the catalogue; unchanged rows stay the same objects. */
import type { Run, Series, Tag } from '../api/types.ts';

export interface RunsReply {
  runs: Run[];
  gone: number[];
  mark: string;
  whole: boolean;
}

type Cell = number | string | null;
type SeriesColumn =
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
  | 'nan';

export interface TagsReply {
  tags: Tag[];
  series: Record<SeriesColumn, Cell[]>;
  gone: { tag: number[]; run: number[] };
  mark: string;
  whole: boolean;
}

/** The process that gave a mark. */
export function bootOf(mark: string): string {
  return mark.slice(0, mark.lastIndexOf('.'));
}

export function newRuns(old: Run[], reply: RunsReply): Run[] {
  if (!reply.whole && reply.runs.length === 0 && reply.gone.length === 0) return old;
  const byId = new Map(reply.whole ? [] : old.map((run) => [run.id, run]));
  for (const id of reply.gone) byId.delete(id);
  for (const run of reply.runs) byId.set(run.id, run);
  return [...byId.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id - b.id));
}

export interface Known {
  tags: Tag[];
  series: Series[];
}

/**
 * The tags that any run has, by id, and the series, by run and tag.
 *
 * A series may be there before its run is: the replies are of two moments.
 */
export function newSeries(old: Known, reply: TagsReply, runs: Run[], goneRuns: number[]): Known {
  const gone = new Set(goneRuns);
  const kept = reply.whole ? [] : old.series.filter((one) => !gone.has(one.run));
  const same = !reply.whole && kept.length === old.series.length;
  if (same && reply.tags.length + reply.series.tag.length + reply.gone.tag.length === 0) return old;
  const found = new Map(kept.map((one) => [keyOf(one.run, one.tag), one]));
  reply.gone.tag.forEach((tag, i) => {
    found.delete(keyOf(reply.gone.run[i]!, tag));
  });
  for (const one of rows(reply.series)) if (!gone.has(one.run)) found.set(keyOf(one.run, one.tag), one);
  const order = new Map(runs.map((run, i) => [run.id, i]));
  const place = (one: Series) => order.get(one.run) ?? runs.length;
  const series = [...found.values()].sort((a, b) => place(a) - place(b) || a.run - b.run || a.tag - b.tag);
  const used = new Set(series.map((one) => one.tag));
  const sameTags = !reply.whole && reply.tags.length === 0 && old.tags.every((tag) => used.has(tag.id));
  if (sameTags) return { tags: old.tags, series };
  const tags = new Map(reply.whole ? [] : old.tags.map((tag) => [tag.id, tag]));
  for (const tag of reply.tags) tags.set(tag.id, tag);
  return { tags: [...tags.values()].filter((tag) => used.has(tag.id)).sort((a, b) => a.id - b.id), series };
}

const RUN = 2 ** 26; // ids are small: run and tag fit into one number
const keyOf = (run: number, tag: number): number => run * RUN + tag;

function rows(columns: TagsReply['series']): Series[] {
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
