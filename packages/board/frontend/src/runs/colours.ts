/** The colour and dash of each run: the same for a name in every session, and rarely the same for two. */
import { computed } from '@preact/signals';
import type { Run } from '../api/types.ts';
import { runs } from '../state/catalogue.ts';
import { savedDocument } from '../storage/saved_document.ts';
import { colour, themeVersion } from '../style/theme.ts';
import { assignSlots, DASHES, type Slot } from './colour_slots.ts';
import { groupColour, groupOfRun } from './group_colours.ts';

export interface RunStyle {
  colour: string;
  dash: number[];
  slot: Slot;
}

/** Colours that the user picked, by name of run: a colour of the palette or "#rrggbb". */
export const pickedColours = savedDocument<Record<string, string>>('colours', {});

/** Changes only when there are other runs, not when one of them grows. */
const known = computed(() => JSON.stringify(runs.value.map((run) => [run.id, run.name])));
const named = computed(() => JSON.parse(known.value) as [number, string][]);
const slots = computed(() => assignSlots(named.value.map(([, name]) => name)));

export const runStyles = computed(() => {
  void themeVersion.value;
  const styles = new Map<number, RunStyle>();
  for (const [id, name] of named.value) {
    const slot = slots.value.get(name) ?? { colour: 0, dash: 0 };
    const picked = pickedColours.value[name];
    const group = groupOfRun.value.get(id);
    const shown = picked ? (/^\d+$/.test(picked) ? colour(`run-${picked}`) : picked) : null;
    styles.set(id, {
      colour: group === undefined ? (shown ?? colour(`run-${slot.colour}`)) : groupColour(group),
      dash: group === undefined ? DASHES[slot.dash]! : [],
      slot,
    });
  }
  return styles;
});

/** The style of a run by its id; grey for one that is not known (yet). */
export function styleOf(run: number): RunStyle {
  return runStyles.value.get(run) ?? { colour: '#888888', dash: [], slot: { colour: 0, dash: 0 } };
}

/** The CSS colour of a run. */
export function runColour(run: Run): string {
  return styleOf(run.id).colour;
}

export function pickColour(name: string, value: string | null): void {
  const { [name]: _, ...rest } = pickedColours.value;
  pickedColours.value = value === null ? rest : { ...rest, [name]: value };
}
