/** The events of an image or audio series, and the items in each; read once and kept. */
import { useEffect, useState } from 'preact/hooks';
import { apiUrl, getColumns, getJson } from '../api/client.ts';
import { numbers } from '../api/columns.ts';
import { seriesByTag } from '../state/catalogue.ts';

export interface BlobRows {
  /** Places in the series; those that a restart made void are left out. */
  rows: number[];
  steps: number[];
  walls: number[];
  superseded: number;
}

export interface BlobItem {
  sample: number;
  width: number;
  height: number;
  mime: string;
  bytes: number;
  label: string;
  id: string;
  sample_rate?: number;
  seconds?: number;
}

const MOST_ITEMS = 4000;
const items = new Map<string, Promise<BlobItem[]>>();

/** The items of one event; concurrent and later callers share one request. */
export function itemsOf(run: number, tag: number, row: number, step: number): Promise<BlobItem[]> {
  const key = `${run} ${tag} ${row} ${step}`;
  let found = items.get(key);
  if (!found) {
    found = getJson<{ items: BlobItem[] }>('blobs/items', { run, tag, row }).then((reply) => reply.items);
    found.catch(() => items.delete(key));
    items.set(key, found);
    if (items.size > MOST_ITEMS) items.delete(items.keys().next().value!);
  }
  return found;
}

export function blobUrl(item: BlobItem): string {
  return apiUrl(`blob/${item.id}`);
}

/** The rows of some runs, read again when a run has grown. */
export function useRows(
  tag: number,
  runs: number[],
): { rows: Map<number, BlobRows>; failure: string | null } {
  const [rows, set] = useState<Map<number, BlobRows>>(new Map());
  const [failure, setFailure] = useState<string | null>(null);
  const grown = (seriesByTag.value.get(tag) ?? [])
    .filter((one) => runs.includes(one.run))
    .map((one) => `${one.run}:${one.n}`)
    .join();
  useEffect(() => {
    const stop = new AbortController();
    void Promise.all(
      runs.map(async (run) => {
        const { columns } = await getColumns('blobs', { run, tag }, stop.signal);
        const steps = numbers(columns.step!);
        const walls = numbers(columns.wall!);
        const replaced = columns.superseded;
        const standing = Array.from(steps.keys()).filter((row) => !replaced?.[row]);
        const found: BlobRows = {
          rows: standing,
          steps: standing.map((row) => steps[row]!),
          walls: standing.map((row) => walls[row]!),
          superseded: steps.length - standing.length,
        };
        return [run, found] as const;
      }),
    ).then(
      (pairs) => {
        set(new Map(pairs));
        setFailure(null);
      },
      (error) => {
        if (!stop.signal.aborted) setFailure(error instanceof Error ? error.message : String(error));
      },
    );
    return () => stop.abort();
  }, [tag, grown]);
  return { rows, failure };
}

/** The place in `rows` whose step is nearest to one; after a restart steps may be out of order. */
export function rowNear(rows: BlobRows, step: number): number {
  let best = -1;
  let distance = Infinity;
  for (let row = 0; row < rows.steps.length; row++) {
    const away = Math.abs(rows.steps[row]! - step);
    if (away <= distance) {
      distance = away;
      best = row;
    }
  }
  return best;
}
