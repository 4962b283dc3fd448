/** Sets a condition on a column, and lets it choose the runs of the whole board. */
import { runById, runs } from '../state/catalogue.ts';
import { only } from '../state/run_choice.ts';
import { runChoice } from '../state/selection.ts';
import { withNamesBelow } from '../state/session_runs.ts';
import { brushChooses, filters, metRows, runsBefore, table } from './hparams_view.ts';

export function setFilter(column: string, condition: string): void {
  const { [column]: _, ...rest } = filters.peek();
  filters.value = condition ? { ...rest, [column]: condition } : rest;
  if (brushChooses.peek()) chooseRuns();
}

export function clearFilters(): void {
  filters.value = {};
  if (brushChooses.peek()) chooseRuns();
}

/** Switches whether conditions choose runs; without that the runs are those that were chosen before. */
export function setBrushChooses(on: boolean): void {
  brushChooses.value = on;
  if (on) chooseRuns();
  else giveBack();
}

/** The runs of the rows that meet all conditions, with the runs below them; without conditions those of before. */
function chooseRuns(): void {
  if (Object.keys(filters.peek()).length === 0) {
    giveBack();
    return;
  }
  runsBefore.value ??= runChoice.peek();
  const met = metRows.value.flatMap((row) => table.value.members[row]!);
  const names = met.map((id) => runById.peek().get(id)?.name ?? '');
  const every = runs.peek().map((run) => run.name);
  runChoice.value = only(withNamesBelow(names, every));
}

function giveBack(): void {
  if (runsBefore.peek()) runChoice.value = runsBefore.peek()!;
  runsBefore.value = null;
}
