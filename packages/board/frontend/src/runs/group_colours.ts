/** The colour of each group of runs: the same on every card, whichever runs it shows. */

import { computed } from '@preact/signals';
import type { Run } from '../api/types.ts';
import { runs } from '../state/catalogue.ts';
import { colour, themeVersion } from '../style/theme.ts';
import { assignSlots } from './colour_slots.ts';
import { groupBy, groupCenter } from './grouping.ts';
import { groupsOf, type RunGroup } from './run_groups.ts';
import { runValue } from './visible_runs.ts';

/** The groups that the page's setting makes of runs; null: none. */
export const chosenGroups = (of: Run[]): RunGroup[] | null =>
  groupBy.value === '' ? null : groupsOf(of, groupBy.value, (run, name) => runValue(run, name));

const everyGroup = computed(() => chosenGroups(runs.value) ?? []);
const slots = computed(() => assignSlots(everyGroup.value.map((group) => group.title)));

export function groupColour(title: string): string {
  void themeVersion.value;
  return colour(`run-${slots.value.get(title)?.colour ?? 0}`);
}

/** The groups whose colours runs have, where each run is drawn; by the id of the run. */
export const groupOfRun = computed(() => {
  const found = new Map<number, string>();
  if (groupBy.value === '' || groupCenter.value !== 'each') return found;
  for (const group of everyGroup.value) for (const run of group.runs) found.set(run.id, group.title);
  return found;
});
