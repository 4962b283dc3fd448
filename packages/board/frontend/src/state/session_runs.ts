/** Which session each run belongs to: `trial/3` has `trial/3/train` and `trial/3/eval` below it. */

interface Named {
  id: number;
  name: string;
}

/** What is known of some runs, by id, given to the runs below them too; the nearest above counts. */
export function withRunsBelow<T>(runs: Named[], known: Map<number, T>): Map<number, T> {
  const byName = new Map<string, T>();
  for (const run of runs) {
    const value = known.get(run.id);
    if (value !== undefined) byName.set(run.name, value);
  }
  const found = new Map(known);
  for (const run of runs) {
    for (
      let at = run.name.lastIndexOf('/');
      at > 0 && !found.has(run.id);
      at = run.name.lastIndexOf('/', at - 1)
    ) {
      const value = byName.get(run.name.slice(0, at));
      if (value !== undefined) found.set(run.id, value);
    }
  }
  return found;
}

/** The names that are among some, or below one of them. */
export function withNamesBelow(names: string[], every: string[]): string[] {
  const runs = every.map((name, id) => ({ id, name }));
  const chosen = new Set(names);
  const known = new Map(runs.filter(({ name }) => chosen.has(name)).map(({ id }) => [id, true]));
  const found = withRunsBelow(runs, known);
  return every.filter((_, id) => found.has(id));
}
