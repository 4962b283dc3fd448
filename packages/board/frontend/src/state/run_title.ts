/** The name of a run as the page shows it. */

import { meta } from './catalogue.ts';

/** The run of files that lie in the log folder itself is ".", which tells a reader nothing: its title is the folder's name. */
export function runTitle(name: string): string {
  return name === '.' ? meta.value?.logdir || name : name;
}
