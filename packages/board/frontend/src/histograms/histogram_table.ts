/** A run's histograms over its steps, on one set of bins. */
import { getColumns } from '../api/client.ts';
import { numbers } from '../api/columns.ts';
import { rebin } from './rebin.ts';

/** The percentiles that a distribution is drawn with: the borders of half standard deviations. */
export const PERCENTS = [0, 6.68, 15.87, 30.85, 50, 69.15, 84.13, 93.32, 100];

export interface HistogramTable {
  rows: number;
  bins: number;
  /** The number of all rows, of which `rows` were chosen evenly. */
  total: number;
  steps: Float64Array;
  walls: Float64Array;
  /** bins + 1 values. */
  edges: Float64Array;
  /** rows * bins, row by row. */
  counts: Float64Array;
  /** rows * 9. */
  percentiles: Float64Array;
  /** Values that each row's histogram counted. */
  sums: Float64Array;
}

export interface RequestedRows {
  max: number;
  bins: number;
  lo?: number | null;
  hi?: number | null;
}

interface Reply {
  rows: number;
  bins: number;
  runs: { run: number; rows: number; total: number; unreadable: number }[];
}

/** The tables of some runs, on the same bins. */
export async function fetchTables(
  runs: number[],
  tag: number,
  requested: RequestedRows,
  signal?: AbortSignal,
): Promise<Map<number, HistogramTable>> {
  const parameters = { runs: runs.join(), tag, ...requested };
  const { header, columns } = await getColumns<Reply>('histograms', parameters, signal);
  const read = (name: string) => numbers(columns[name]!);
  const [steps, walls, edges, sums] = [read('step'), read('wall'), read('edges'), read('n')];
  const [counts, percentiles] = [read('counts'), read('percentiles')];
  const { bins } = header;
  const tables = new Map<number, HistogramTable>();
  let from = 0;
  for (const { run, rows, total } of header.runs) {
    const to = from + rows;
    tables.set(run, {
      rows,
      bins,
      total,
      edges,
      steps: steps.subarray(from, to),
      walls: walls.subarray(from, to),
      sums: sums.subarray(from, to),
      counts: counts.subarray(from * bins, to * bins),
      percentiles: percentiles.subarray(from * 9, to * 9),
    });
    from = to;
  }
  return tables;
}

/** The same table on other edges. */
export function onEdges(table: HistogramTable, edges: Float64Array): HistogramTable {
  const bins = edges.length - 1;
  if (bins === table.bins && edges.every((edge, i) => edge === table.edges[i])) return table;
  const counts = new Float64Array(table.rows * bins);
  for (let row = 0; row < table.rows; row++) {
    const own = table.counts.subarray(row * table.bins, (row + 1) * table.bins);
    counts.set(rebin(table.edges, own, edges), row * bins);
  }
  return { ...table, bins, edges, counts };
}
