/** The events of an image or audio series, and the items in each; read once and cached. */
import { useMemo } from 'preact/hooks';
import { apiUrl, getColumns, getJson } from '../api/client.ts';
import { numbers } from '../api/columns.ts';
import { ofEachRun, useResponse } from '../api/use_response.ts';
import { nearestStep } from '../state/nearest_step.ts';
import { stepFrom, stepTo } from '../state/selection.ts';
import { seriesVersion } from '../state/series_version.ts';
import { serverBoot } from '../state/server.ts';
import { nothingInRange, placesInRange } from '../state/step_range.ts';

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

/** One event. Its wall time distinguishes it from an event of a rewritten file. */
export interface Place {
  run: number;
  tag: number;
  row: number;
  step: number;
  wall: number;
}

const MOST_ITEMS = 4000;
const GONE = 404;
const items = new Map<string, Promise<BlobItem[]>>();

export const placeKey = ({ run, tag, row, step, wall }: Place): string =>
  [run, tag, row, step, wall, serverBoot.peek()].join(' ');

/** The items of one event; concurrent and later callers share one request. */
export function itemsOf(place: Place): Promise<BlobItem[]> {
  const key = placeKey(place);
  let found = items.get(key);
  if (!found) {
    const { run, tag, row } = place;
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

/** The bytes of a sample, and its item; an item id that is no longer valid is fetched once more. */
export async function fetchItem(
  place: Place,
  sample: number,
): Promise<{ item: BlobItem; samples: number; blob: Blob }> {
  for (const last of [false, true]) {
    const found = await itemsOf(place);
    const item = found[Math.min(sample, found.length - 1)];
    if (!item) throw new Error('this event is empty');
    const response = await fetch(blobUrl(item));
    if (response.ok) return { item, samples: found.length, blob: await response.blob() };
    if (response.status !== GONE || last) throw new Error(`the server responded with ${response.status}`);
    items.delete(placeKey(place));
  }
  throw new Error('this event is gone');
}

export interface FoundRows {
  /** By run; of the steps within the range that is selected on every chart. */
  rows: Map<number, BlobRows>;
  failure: string | null;
  /** What to say where the range leaves nothing. */
  nothing: string | null;
}

/** The rows of some runs, read again when a run has grown. */
export function useRows(tag: number, runs: number[]): FoundRows {
  const { response: all, failure } = useResponse(
    (signal) => ofEachRun(runs, (run) => rowsOf(run, tag, signal)),
    new Map<number, BlobRows>(),
    [tag, seriesVersion(tag, runs)],
  );
  const range = { from: stepFrom.value, to: stepTo.value };
  return useMemo(() => {
    const rows = new Map([...all].map(([run, found]) => [run, within(found, range)]));
    const count = (of: Map<number, BlobRows>) =>
      [...of.values()].reduce((sum, one) => sum + one.rows.length, 0);
    return { rows, failure, nothing: nothingInRange(count(all), count(rows), range) };
  }, [all, failure, range.from, range.to]);
}

/** The rows of a run within the steps that are selected now. */
export const selectedRows = async (run: number, tag: number, signal: AbortSignal): Promise<BlobRows> =>
  within(await rowsOf(run, tag, signal), { from: stepFrom.peek(), to: stepTo.peek() });

async function rowsOf(run: number, tag: number, signal: AbortSignal): Promise<BlobRows> {
  const { columns } = await getColumns('blobs', { run, tag }, signal);
  const steps = numbers(columns.step!);
  const walls = numbers(columns.wall!);
  const replaced = columns.superseded;
  const standing = Array.from(steps.keys()).filter((row) => !replaced?.[row]);
  return {
    rows: standing,
    steps: standing.map((row) => steps[row]!),
    walls: standing.map((row) => walls[row]!),
    superseded: steps.length - standing.length,
  };
}

function within(found: BlobRows, range: { from: number | null; to: number | null }): BlobRows {
  const places = placesInRange(found.steps, range);
  if (!places) return found;
  return {
    rows: places.map((at) => found.rows[at]!),
    steps: places.map((at) => found.steps[at]!),
    walls: places.map((at) => found.walls[at]!),
    superseded: found.superseded,
  };
}

/** The event of a run that is nearest to a step; null: it has none. */
export function placeNear(run: number, tag: number, rows: BlobRows | undefined, step: number): Place | null {
  const at = rows ? nearestStep(rows.steps, step) : -1;
  if (!rows || at < 0) return null;
  return { run, tag, row: rows.rows[at]!, step: rows.steps[at]!, wall: rows.walls[at]! };
}
