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
  /** For each row: its first run, all its runs, and its name. */
  runs: number[];
  members: number[][];
  names: string[];
  status: string[];
  columns: Column[];
}

type Session = HparamsReply['sessions'][number];

/** Columns that differ first, then those that are alike in every row. `averaged`: repeats are one row. */
export function tableOf(
  reply: HparamsReply,
  nameOfRun: (id: number) => string,
  aggregate: Aggregate,
  averaged = false,
): SessionTable {
  const rows = rowsOf(reply.sessions, averaged);
  const params = reply.params.map((param): Column => {
    const cells = rows.map((sessions) =>
      shared(sessions.map((session) => session.values[param.name] ?? null)),
    );
    return {
      id: `p:${param.name}`,
      title: param.display || param.name,
      description: param.description,
      role: 'param',
      kind: kindOf(cells, param.kind),
      cells,
    };
  });
  const metrics = reply.metrics.map(
    ({ key, name, group, display, description }): Column => ({
      id: `m:${group ? `${group}/` : ''}${name}`,
      title: display || (group ? `${group}/${name}` : name),
      description,
      role: 'metric',
      kind: 'number',
      cells: rows.map((sessions) => mean(sessions.map((session) => session.metrics[key]?.[aggregate]))),
    }),
  );
  const differs = (column: Column) => new Set(column.cells).size > 1;
  return {
    runs: rows.map((sessions) => sessions[0]!.run),
    members: rows.map((sessions) => sessions.map((session) => session.run)),
    names: rows.map((sessions) => (sessions.length > 1 ? sessions[0]!.group : nameOfRun(sessions[0]!.run))),
    status: rows.map((sessions) => [...new Set(sessions.map((session) => session.status))].join(', ')),
    columns: [...params.filter(differs), ...params.filter((c) => !differs(c)), ...metrics],
  };
}

/** Sessions that are repeats of each other, if there are any. */
export function hasRepeats(reply: HparamsReply): boolean {
  return rowsOf(reply.sessions, true).length < reply.sessions.length;
}

function rowsOf(sessions: Session[], averaged: boolean): Session[][] {
  if (!averaged) return sessions.map((session) => [session]);
  const rows = new Map<string, Session[]>();
  for (const session of sessions) {
    const key = session.group ? `group ${session.group}` : `run ${session.run}`;
    const row = rows.get(key);
    if (row) row.push(session);
    else rows.set(key, [session]);
  }
  return [...rows.values()];
}

/** What all have; empty where they differ. */
function shared(cells: Cell[]): Cell {
  return cells.every((cell) => cell === cells[0]) ? (cells[0] ?? null) : null;
}

function mean(values: (number | string | undefined)[]): Cell {
  const there = values.filter((value) => value !== undefined).map(Number);
  return there.length === 0 ? null : there.reduce((sum, value) => sum + value, 0) / there.length;
}

/** The values of a column override its declared kind. */
function kindOf(cells: Cell[], declared: Column['kind']): Column['kind'] {
  const kinds = new Set(cells.filter((cell) => cell !== null).map((cell) => typeof cell));
  if (kinds.size !== 1) return kinds.size === 0 ? declared : 'string';
  return kinds.has('number') ? 'number' : kinds.has('boolean') ? 'bool' : 'string';
}

/** Rows in order of a column; empty cells and NaN are last in both directions. */
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

/** Whether the column has more than one value. */
export function varies(column: Column): boolean {
  return new Set(column.cells).size > 1;
}
