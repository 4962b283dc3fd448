/** When what was fetched of a series is no longer what the server has. */
import { seriesByTag } from './catalogue.ts';
import { serverBoot } from './server.ts';

/** Changes when a tag's series in some runs grow or are rewritten, and when the server restarts. */
export function seriesVersion(tag: number, runs: number[]): string {
  const requested = new Set(runs);
  const found = (seriesByTag.value.get(tag) ?? [])
    .filter((one) => requested.has(one.run))
    .map((one) => [one.run, one.n, one.lastStep, one.firstWall, one.lastWall].join(':'));
  return [serverBoot.value, ...found].join();
}
