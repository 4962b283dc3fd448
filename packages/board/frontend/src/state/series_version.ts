/** When what was fetched of a series is no longer what the server has. */
import { seriesByTag } from './catalogue.ts';
import { serverBoot } from './server.ts';

/** A text that is another one when a tag's series in some runs have grown, were written anew, or the server was. */
export function seriesVersion(tag: number, runs: number[]): string {
  const asked = new Set(runs);
  const found = (seriesByTag.value.get(tag) ?? [])
    .filter((one) => asked.has(one.run))
    .map((one) => [one.run, one.n, one.lastStep, one.firstWall, one.lastWall].join(':'));
  return [serverBoot.value, ...found].join();
}
