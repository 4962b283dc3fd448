/** The table under a chart: what each run's values did over the selected steps, exactly. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run } from '../api/types.ts';
import { DashSwatch } from '../controls/dash_swatch.tsx';
import { styleOf } from '../runs/colours.ts';
import { seriesByRun } from '../runs/visible_runs.ts';
import { runById } from '../state/catalogue.ts';
import { hoveredRun } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { count, shortNumber } from '../units/numbers.ts';
import { cancelCurves, type LoadedCurve, requestCurves } from './curves/curve_loader.ts';
import { selectedSteps, stepsText } from './downloads.ts';
import { rangeQueries } from './range_queries.ts';
import {
  RANGE_TABLE_HEIGHT,
  type RangeColumn,
  type RangeRow,
  rangeValues,
  sortRows,
} from './range_values.ts';
import { type CurvePart, tagsOfPart } from './settings/curve_part.ts';

const COLUMNS: [RangeColumn, string][] = [
  ['start', 'start'],
  ['end', 'end'],
  ['change', 'change'],
  ['min', 'min'],
  ['max', 'max'],
];

export function RangeTable({ parts, runs }: { parts: CurvePart[]; runs: Run[] }) {
  const owner = useRef({}).current;
  const [lists, setLists] = useState<LoadedCurve[][] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [sorting, setSorting] = useState<{ by: RangeColumn; down: boolean }>({ by: 'run', down: false });
  const steps = selectedSteps();
  const queries = rangeQueries(parts, runs, steps);
  const key = JSON.stringify(queries);
  const grown = runs
    .flatMap((run) => parts.flatMap(tagsOfPart).map((tag) => seriesByRun.value.get(run.id)?.get(tag)?.n))
    .join();
  useEffect(() => {
    requestCurves(owner, queries, (curves, failure) => {
      setError(failure);
      if (curves) setLists(curves);
    });
  }, [key, grown]);
  useEffect(() => () => cancelCurves(owner), [owner]);

  const rows = useMemo(() => {
    const names = runById.peek();
    return (lists ?? []).flatMap((list, i) =>
      list.flatMap((curve): RangeRow[] => {
        const values = rangeValues(curve, steps?.lo ?? null, steps?.hi ?? null);
        const part = parts[i];
        if (!values || !part || curve.run === null) return [];
        const { colour } = styleOf(curve.run);
        return [{ run: names.get(curve.run)?.name ?? '', tag: part.tag.name, colour, ...values }];
      }),
    );
  }, [lists, parts]);
  const several = parts.length > 1;
  const idOf = new Map(runs.map((run) => [run.name, run.id]));
  const heading = (column: RangeColumn, text: string) => {
    const isBy = sorting.by === column;
    return (
      <th key={column} aria-sort={isBy ? (sorting.down ? 'descending' : 'ascending') : 'none'}>
        <button
          type="button"
          class="as-text"
          onClick={() => setSorting({ by: column, down: isBy ? !sorting.down : column !== 'run' })}
        >
          {text}
          {isBy ? (sorting.down ? ' ↓' : ' ↑') : ''}
        </button>
      </th>
    );
  };
  return (
    <div class="range-table" style={{ height: `${RANGE_TABLE_HEIGHT}px` }}>
      {error !== null && (
        <p class="query-error" role="alert">
          {safeText(error, 200)}
        </p>
      )}
      <table>
        <caption class="faint">
          {steps ? stepsText(steps) : 'all steps; Shift and a drag select some'}
        </caption>
        <thead>
          <tr>
            {heading('run', 'run')}
            {COLUMNS.map(([column, text]) => heading(column, text))}
          </tr>
        </thead>
        <tbody>
          {sortRows(rows, sorting.by, sorting.down).map((row) => (
            <tr
              key={`${row.run}\n${row.tag}`}
              onPointerEnter={() => {
                hoveredRun.value = idOf.get(row.run) ?? null;
              }}
              onPointerLeave={() => {
                hoveredRun.value = null;
              }}
            >
              <th scope="row">
                <DashSwatch colour={row.colour} dash={[]} /> {safeText(row.run, 120)}
                {several && <span class="faint"> {safeText(row.tag, 120)}</span>}
              </th>
              {COLUMNS.map(([column]) => (
                <td key={column} title={titleOf(row, column)}>
                  {shortNumber(row[column] as number, 4)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {lists !== null && rows.length === 0 && <p class="faint">These steps have no finite value.</p>}
    </div>
  );
}

function titleOf(row: RangeRow, column: RangeColumn): string {
  const step = (value: number) => `step ${count(value)}`;
  const value = String(row[column]);
  if (column === 'start') return `${value} at ${step(row.from)}`;
  return column === 'end' ? `${value} at ${step(row.to)}` : value;
}
