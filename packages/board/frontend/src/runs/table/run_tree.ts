/** Runs in the tree of their folders, as rows of a table. */
import type { Run } from '../../api/types.ts';

export interface FolderRow {
  kind: 'folder';
  path: string;
  title: string;
  depth: number;
  /** Names of all runs below. */
  names: string[];
  open: boolean;
}

export interface RunRow {
  kind: 'run';
  run: Run;
  title: string;
  depth: number;
}

export type Row = FolderRow | RunRow;

interface Folder {
  path: string;
  title: string;
  folders: Map<string, Folder>;
  runs: Run[];
  names: string[];
}

/**
 * The rows, in the order of the runs: in each folder first the folders, then the runs. A run that is a folder of
 * others as well is in that folder.
 */
export function rowsOf(runs: Run[], shut: ReadonlySet<string>): Row[] {
  const root: Folder = { path: '', title: '', folders: new Map(), runs: [], names: [] };
  const folders = new Set<string>();
  for (const { name } of runs) {
    for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1))
      folders.add(name.slice(0, end));
  }
  for (const run of runs) {
    const parts = run.name.split('/');
    const depth = folders.has(run.name) ? parts.length : parts.length - 1;
    let at = root;
    for (let i = 0; i < depth; i++) {
      let next = at.folders.get(parts[i]!);
      if (!next) {
        next = {
          path: parts.slice(0, i + 1).join('/'),
          title: parts[i]!,
          folders: new Map(),
          runs: [],
          names: [],
        };
        at.folders.set(parts[i]!, next);
      }
      next.names.push(run.name);
      at = next;
    }
    at.runs.push(run);
  }
  const rows: Row[] = [];
  const add = (folder: Folder, depth: number) => {
    for (const inner of folder.folders.values()) {
      let shown = inner;
      let title = inner.title;
      while (shown.runs.length === 0 && shown.folders.size === 1) {
        [shown] = shown.folders.values() as unknown as [Folder];
        title += `/${shown.title}`;
      }
      const open = !shut.has(shown.path);
      rows.push({ kind: 'folder', path: shown.path, title, depth, names: shown.names, open });
      if (open) add(shown, depth + 1);
    }
    for (const run of folder.runs) {
      rows.push({ kind: 'run', run, title: run.name.slice(run.name.lastIndexOf('/') + 1), depth });
    }
  };
  add(root, 0);
  return rows;
}

export type Tri = 'on' | 'off' | 'some';

export function triState(names: string[], chosen: (name: string) => boolean): Tri {
  let on = 0;
  for (const name of names) if (chosen(name)) on++;
  return on === 0 ? 'off' : on === names.length ? 'on' : 'some';
}

/** Sorts runs by a value of each; those without one are last. */
export function sortRuns(runs: Run[], value: (run: Run) => unknown, down: boolean): Run[] {
  const keyed = runs.map((run, i) => ({ run, i, key: value(run) }));
  const isNone = (key: unknown) => key === undefined || key === null || Number.isNaN(key);
  keyed.sort((a, b) => {
    if (isNone(a.key) || isNone(b.key)) return Number(isNone(a.key)) - Number(isNone(b.key)) || a.i - b.i;
    const both = typeof a.key === 'number' && typeof b.key === 'number';
    const order = both
      ? (a.key as number) - (b.key as number)
      : String(a.key).localeCompare(String(b.key), 'en', { numeric: true });
    return (down ? -order : order) || a.i - b.i;
  });
  return keyed.map((item) => item.run);
}
