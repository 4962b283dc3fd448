/** Merges a response into the catalogue; unchanged rows stay the same objects. */
import type { Run, Series, Tag } from '../api/types.ts';
import type { TagsReply } from './tags_reply.ts';

export interface RunsReply {
  runs: Run[];
  gone: number[];
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
  const goneRun = new Set(goneRuns);
  const goneKeys = new Set(reply.gone.tag.map((tag, i) => keyOf(reply.gone.run[i]!, tag)));
  const isThere = (one: Series) => !goneRun.has(one.run);
  const order = new Map(runs.map((run, i) => [run.id, i]));
  const place = (one: Series) => order.get(one.run) ?? runs.length;
  const compare = (a: Series, b: Series) => place(a) - place(b) || a.run - b.run || a.tag - b.tag;
  const isKept = (one: Series) =>
    isThere(one) && (goneKeys.size === 0 || !goneKeys.has(keyOf(one.run, one.tag)));
  const before = reply.whole ? [] : old.series;
  const kept = goneRun.size + goneKeys.size > 0 ? before.filter(isKept) : before;
  const isSame = !reply.whole && kept.length === before.length;
  if (isSame && reply.tags.length + reply.series.length === 0) return old;
  const series = merged(inOrder(kept, compare), inOrder(reply.series.filter(isThere), compare), compare);
  // Only series that are gone can leave tags that nothing has.
  const some = isSame || reply.whole ? null : new Set(series.map((one) => one.tag));
  const isUsed = (tag: Tag) => some === null || some.has(tag.id);
  if (!reply.whole && reply.tags.length === 0 && old.tags.every(isUsed)) return { tags: old.tags, series };
  const tags = new Map(reply.whole ? [] : old.tags.map((tag) => [tag.id, tag]));
  for (const tag of reply.tags) tags.set(tag.id, tag);
  return { tags: inOrder([...tags.values()].filter(isUsed), (a, b) => a.id - b.id), series };
}

const RUN = 2 ** 26; // ids are small: run and tag fit into one number
const keyOf = (run: number, tag: number): number => run * RUN + tag;

/** The items in order; the same array where they are in order, as they nearly always are. */
function inOrder<T>(items: T[], compare: (a: T, b: T) => number): T[] {
  for (let i = 1; i < items.length; i++) {
    if (compare(items[i - 1]!, items[i]!) > 0) return [...items].sort(compare);
  }
  return items;
}

/** Two ordered lists as one; where both have an item, that of the second is taken. */
function merged<T>(first: T[], second: T[], compare: (a: T, b: T) => number): T[] {
  if (first.length === 0) return second;
  const found: T[] = [];
  let at = 0;
  for (const item of second) {
    while (at < first.length && compare(first[at]!, item) < 0) found.push(first[at++]!);
    if (at < first.length && compare(first[at]!, item) === 0) at++;
    found.push(item);
  }
  while (at < first.length) found.push(first[at++]!);
  return found;
}
