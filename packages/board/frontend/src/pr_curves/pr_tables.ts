/** The tables of precision-recall curves of some runs, read again when a run has grown. */

import { useMemo } from 'preact/hooks';
import { getColumns } from '../api/client.ts';
import { numbers } from '../api/columns.ts';
import { ofEachRun, useResponse } from '../api/use_response.ts';
import { stepFrom, stepTo } from '../state/selection.ts';
import { seriesVersion } from '../state/series_version.ts';
import { inRange, nothingInRange } from '../state/step_range.ts';
import { count as countText } from '../units/numbers.ts';
import type { PrTable } from './pr_curve.ts';

/** Steps of a run at most; of more the server chooses evenly. */
const MOST_STEPS = 1000;

interface RunTables {
  tables: PrTable[];
  /** Steps that there are. */
  total: number;
}

export interface FoundTables {
  /** By run; of the steps within the range that is selected on every chart. */
  tables: Map<number, PrTable[]>;
  failure: string | null;
  nothing: string | null;
  /** How many steps are within reach of how many; '' of all. */
  note: string;
}

export function useTables(tag: number, runs: number[]): FoundTables {
  const { response: all, failure } = useResponse(
    (signal) => ofEachRun(runs, (run) => fetchTables(run, tag, signal)),
    new Map<number, RunTables>(),
    [tag, seriesVersion(tag, runs)],
  );
  const range = { from: stepFrom.value, to: stepTo.value };
  return useMemo(() => {
    const tables = new Map(
      [...all].map(([run, found]) => [run, found.tables.filter(({ step }) => inRange(step, range))]),
    );
    const count = (of: Iterable<PrTable[]>) => [...of].reduce((sum, list) => sum + list.length, 0);
    const sent = count([...all.values()].map((one) => one.tables));
    const total = [...all.values()].reduce((sum, one) => sum + one.total, 0);
    return {
      tables,
      failure,
      nothing: nothingInRange(sent, count(tables.values()), range),
      note: sent < total ? `${countText(sent)} of ${countText(total)} steps, evenly chosen` : '',
    };
  }, [all, failure, range.from, range.to]);
}

async function fetchTables(run: number, tag: number, signal: AbortSignal): Promise<RunTables> {
  const { header, columns } = await getColumns<{ rows: number; thresholds: number; total: number }>(
    'pr_curves',
    { run, tag, max: MOST_STEPS },
    signal,
  );
  const [steps, walls, data] = ['step', 'wall', 'data'].map((name) => numbers(columns[name]!)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  const size = 6 * header.thresholds;
  const tables = Array.from({ length: header.rows }, (_, row) => ({
    step: steps[row]!,
    wall: walls[row]!,
    thresholds: header.thresholds,
    data: data.subarray(row * size, (row + 1) * size),
  }));
  return { tables, total: header.total };
}
