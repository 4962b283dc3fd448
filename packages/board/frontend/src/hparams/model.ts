/** The table of sessions: one row a run, a column for each hyperparameter and each metric. */
import type { HparamsReply } from '../state/hparams.ts';

export type Cell = number | string | boolean | null;
export type Aggregate = 'last' | 'min' | 'max';

export interface Column {
  /** `p:name` or `m:tag`; lasts over reloads. */
  id: string;
  title: string;
  description: string;
  role: 'param' | 'metric';
  kind: 'number' | 'string' | 'bool';
  /** One per row. */
  cells: Cell[];
}

export interface SessionTable {
  /** Ids and names of the runs, one per row. */
  runs: number[];
  names: string[];
  status: string[];
  columns: Column[];
}

/** Columns that differ first, then those that are alike in every row. */
export function tableOf(
  reply: HparamsReply,
  nameOfRun: (id: number) => string,
  nameOfTag: (id: number) => string,
  aggregate: Aggregate,
): SessionTable {
  const { sessions } = reply;
  const params = reply.params.map((param): Column => {
    const cells = sessions.map((session) => session.values[param.name] ?? null);
    return {
      id: `p:${param.name}`,
      title: param.display || param.name,
      description: param.description,
      role: 'param',
      kind: kindOf(cells, param.kind),
      cells,
    };
  });
  const metrics = reply.metrics.map((metric): Column => {
    const name = nameOfTag(metric.tag);
    const key = (metric as { key?: string }).key ?? String(metric.tag);
    return {
      id: `m:${metric.group ? `${metric.group}/` : ''}${name}`,
      title: metric.display || (metric.group ? `${metric.group}/${name}` : name),
      description: '',
      role: 'metric',
      kind: 'number',
      cells: sessions.map((session) => {
        const value = session.metrics[key]?.[aggregate];
        return value === undefined ? null : Number(value);
      }),
    };
  });
  const differs = (column: Column) => new Set(column.cells).size > 1;
  return {
    runs: sessions.map((session) => session.run),
    names: sessions.map((session) => nameOfRun(session.run)),
    status: sessions.map((session) => session.status),
    columns: [...params.filter(differs), ...params.filter((c) => !differs(c)), ...metrics],
  };
}

/** What was said of a column gives way to what is in it. */
function kindOf(cells: Cell[], said: Column['kind']): Column['kind'] {
  const kinds = new Set(cells.filter((cell) => cell !== null).map((cell) => typeof cell));
  if (kinds.size !== 1) return kinds.size === 0 ? said : 'string';
  return kinds.has('number') ? 'number' : kinds.has('boolean') ? 'bool' : 'string';
}

/** Rows in order of a column; empty cells and NaN stand last either way. */
export function sorted(rows: number[], cells: Cell[], descending: boolean): number[] {
  const empty = (cell: Cell) => cell === null || (typeof cell === 'number' && Number.isNaN(cell));
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [cells[a] ?? null, cells[b] ?? null];
    if (empty(x) || empty(y)) return Number(empty(x)) - Number(empty(y)) || a - b;
    return sign * compare(x, y) || a - b;
  });
}

function compare(a: Cell, b: Cell): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
