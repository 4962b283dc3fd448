/** What corruption cost each run. */
import type { Problem } from '../api/types.ts';

export interface Loss {
  run: number;
  bytes: number;
  /** Places that could not be read. */
  places: number;
}

/** Runs that lost something, the greatest loss first. Values that are not numbers are not lost. */
export function lossesByRun(problems: Problem[]): Loss[] {
  const found = new Map<number, Loss>();
  for (const { run, severity, bytes, count } of problems) {
    if (run === null || severity !== 'error') continue;
    const loss = found.get(run) ?? { run, bytes: 0, places: 0 };
    found.set(run, { run, bytes: loss.bytes + bytes, places: loss.places + count });
  }
  return [...found.values()].sort((a, b) => b.bytes - a.bytes || b.places - a.places || a.run - b.run);
}
