/** The rows and columns of the table of runs, and what may be done with them. */
import { computed, signal } from '@preact/signals';
import { list, text } from '../../address/url_codec.ts';
import { urlSignal } from '../../address/url_state.ts';
import type { Run } from '../../api/types.ts';
import { chooser } from '../../state/run_choice.ts';
import { inspectedRun, inspectedTag, runChoice } from '../../state/selection.ts';
import { listedRuns, query, runValue, setRunsShown } from '../visible_runs.ts';
import { type Row, rowsOf, sortRuns, triState } from './run_tree.ts';

/** Further columns: fields of runs (visible_runs.ts: runValue), `min:TAG`, `max:TAG`. */
export const columns = urlSignal<string[]>('cols', list, []);
/** The column by which runs are sorted; "-" before it: downwards. "" is the tree. */
export const sorting = urlSignal('sort', text, '');
export const shutRunFolders = urlSignal<string[]>('rshut', list, []);

/** Of a row and of a column, in CSS pixels. */
export const ROW = 24;
export const COLUMN = 84;

export const chosen = computed(() => chooser(runChoice.value));

export function cell(run: Run, column: string): unknown {
  const [, of, name] = /^(min|max):(.*)$/.exec(column) ?? [];
  return of ? runValue(run, name!, of as 'min' | 'max') : runValue(run, column);
}

export const shownColumns = computed(() => {
  // Fields of the present condition are shown as columns.
  const conditionFields = query.value.fields.filter((f) => f !== 'name' && !columns.value.includes(f));
  return [...columns.value, ...conditionFields];
});

export const rows = computed<Row[]>(() => {
  const by = sorting.value;
  if (by === '') return rowsOf(listedRuns.value, new Set(shutRunFolders.value));
  const down = by.startsWith('-');
  const column = down ? by.slice(1) : by;
  return sortRuns(listedRuns.value, (run) => cell(run, column), down).map((run) => ({
    kind: 'run',
    run,
    title: run.name,
    depth: 0,
  }));
});

export const active = signal(0);

export function toggleRow(row: Row): void {
  if (row.kind === 'run') setRunsShown([row.run.name], !chosen.value(row.run.name));
  else setRunsShown(row.names, triState(row.names, chosen.value) !== 'on');
}

export function toggleFolder(path: string): void {
  const now = shutRunFolders.value;
  shutRunFolders.value = now.includes(path) ? now.filter((one) => one !== path) : [...now, path];
}

export function inspect(run: Run): void {
  inspectedRun.value = run.id;
  inspectedTag.value = null;
}
