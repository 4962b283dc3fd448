/** Sets a condition on a column, and lets it choose the runs of the whole board. */
import { runs } from '../state/catalogue.ts';
import { everyRun, only } from '../state/run_choice.ts';
import { runChoice } from '../state/selection.ts';
import { brushChooses, filters, metRows, table } from './hparams_view.ts';

export function setFilter(column: string, said: string): void {
  const { [column]: _, ...rest } = filters.peek();
  filters.value = said ? { ...rest, [column]: said } : rest;
  if (brushChooses.peek()) chooseRuns();
}

export function clearFilters(): void {
  filters.value = {};
  if (brushChooses.peek()) chooseRuns();
}

/** The runs of the rows that meet all conditions, with the runs below them; every run without conditions. */
export function chooseRuns(): void {
  if (Object.keys(filters.peek()).length === 0) {
    runChoice.value = everyRun;
    return;
  }
  const names = metRows.value.map((row) => table.value.names[row]!);
  runChoice.value = only(
    withRunsBelow(
      names,
      runs.peek().map((run) => run.name),
    ),
  );
}

/** A session's run is often a folder: `trial/3` has `trial/3/train` and `trial/3/eval`. */
export function withRunsBelow(names: string[], every: string[]): string[] {
  const chosen = new Set(names);
  return every.filter((name) => {
    if (chosen.has(name)) return true;
    for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) {
      if (chosen.has(name.slice(0, at))) return true;
    }
    return false;
  });
}
