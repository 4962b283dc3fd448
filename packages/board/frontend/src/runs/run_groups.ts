/** Runs in groups, by a pattern of their names or by a hyperparameter. */
import type { Run } from '../api/types.ts';
import { naturally } from '../strings/natural_order.ts';
import { patternOf } from '../strings/pattern.ts';

export interface RunGroup {
  title: string;
  runs: Run[];
}

/**
 * The groups that `by` makes: "re:PATTERN" by what the first parenthesis (or all) matched, "hp:NAME" by
 * a hyperparameter, "folder" by the folder. null: no groups. Runs without a value are a group of their own.
 */
export function groupsOf(
  runs: Run[],
  by: string,
  parameter: (run: Run, name: string) => unknown,
): RunGroup[] | null {
  const key = keyOf(by, parameter);
  if (!key) return null;
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    const title = key(run);
    const list = groups.get(title);
    if (list) list.push(run);
    else groups.set(title, [run]);
  }
  return [...groups]
    .map(([title, members]) => ({ title, runs: members }))
    .sort((a, b) => naturally(a.title, b.title));
}

/** Why `by` makes no groups; null where it does. */
export const groupError = (by: string): string | null =>
  by.startsWith('re:') && by.length > 3 ? patternOf(by.slice(3)).error : null;

function keyOf(by: string, parameter: (run: Run, name: string) => unknown): ((run: Run) => string) | null {
  if (by === 'folder') return (run) => run.name.slice(0, Math.max(0, run.name.lastIndexOf('/'))) || '(top)';
  if (by === 'all') return () => 'all runs';
  if (by.startsWith('hp:') && by.length > 3) {
    const name = by.slice(3);
    return (run) => {
      const value = parameter(run, name);
      return value === undefined ? `${name}: none` : `${name}: ${value}`;
    };
  }
  if (by.startsWith('re:') && by.length > 3) {
    const pattern = patternOf(by.slice(3));
    if (pattern.error) return null;
    return (run) => {
      const match = pattern.exec(run.name);
      return match ? (match.length > 1 ? match.slice(1).join(' ') : match[0]!) : '(others)';
    };
  }
  return null;
}
