/** When what was fetched of a series is no longer what the server has. */
import { computed } from '@preact/signals';
import { meta, seriesByTag } from './catalogue.ts';

/** Names the server's process: numbers of runs and tags, and signed names of blobs, end with it. */
export const boot = computed(() => (meta.value as { boot?: string } | null)?.boot ?? '');

/** A text that is another one when a tag's series in some runs have grown, were written anew, or the server was. */
export function seriesVersion(tag: number, runs: number[]): string {
  const asked = new Set(runs);
  const found = (seriesByTag.value.get(tag) ?? [])
    .filter((one) => asked.has(one.run))
    .map((one) => [one.run, one.n, one.lastStep, one.firstWall, one.lastWall].join(':'));
  return [boot.value, ...found].join();
}
