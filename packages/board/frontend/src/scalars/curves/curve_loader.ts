/** Fetches the curves of the cards in sight; queries of one frame share a request. */
import { ApiError, postColumns } from '../../api/client.ts';
import { type Column, type Columns, numbers } from '../../api/columns.ts';
import { messageOf } from '../../api/error_message.ts';

/** A query of POST /scalars (docs/board_api.md). */
export interface CurveQuery {
  tag?: number;
  runs?: number[];
  x: 'step' | 'relative' | 'wall' | { tag: number };
  x_scale: 'linear' | 'log';
  lo: number | null;
  hi: number | null;
  px: number;
  smooth: { kind: string; weight: number } | null;
  group: { runs: number[][]; center: string; band: string } | null;
  expression?: string;
  variables?: Record<string, number>;
  join?: string;
  superseded: boolean;
}

export interface LoadedCurve {
  run: number | null;
  group: number | null;
  n: number;
  drawn: number;
  superseded: number;
  x: Float64Array<ArrayBuffer>;
  y: Float64Array<ArrayBuffer> | Float32Array<ArrayBuffer>;
  flags: Uint8Array<ArrayBuffer> | null;
  raw: LoadedCurve['y'] | null;
  lo: LoadedCurve['y'] | null;
  hi: LoadedCurve['y'] | null;
}

interface CurveHeader {
  query: number;
  run?: number;
  group?: number;
  n: number;
  drawn: number;
  superseded?: number;
  columns: Record<string, string>;
}

/** Called with the curves of each query, or with what went wrong. */
type OnLoaded = (curves: LoadedCurve[][] | null, error: string | null) => void;

interface PendingQueries {
  queries: CurveQuery[];
  onLoaded: OnLoaded;
}

/** Queries in one request. */
export const MOST_QUERIES = 16;
const MOST_REQUESTS_IN_FLIGHT = 3;

interface Request {
  /** The queries of each owner that still waits for them. */
  waiting: Map<object, PendingQueries>;
  controller: AbortController;
}
/** By owner: a chart or table. */
const pending = new Map<object, PendingQueries>();
const inFlight = new Set<Request>();
let scheduled = false;

/** Requests curves; the queries replace earlier ones of the same owner. */
export function requestCurves(owner: object, queries: CurveQuery[], onLoaded: OnLoaded): void {
  cancelCurves(owner);
  pending.set(owner, { queries, onLoaded });
  schedule();
}

/** Cancels the queries of an owner; a request that no other owner waits for is aborted. */
export function cancelCurves(owner: object): void {
  pending.delete(owner);
  for (const request of inFlight) {
    if (!request.waiting.delete(owner) || request.waiting.size > 0) continue;
    inFlight.delete(request);
    request.controller.abort();
  }
}

export const isLoading = (): boolean => pending.size > 0 || inFlight.size > 0;

/** The curves of each query, in as many requests as that takes. */
export async function fetchCurves(queries: CurveQuery[], signal?: AbortSignal): Promise<LoadedCurve[][]> {
  const found: LoadedCurve[][] = [];
  for (let from = 0; from < queries.length; from += MOST_QUERIES) {
    const some = queries.slice(from, from + MOST_QUERIES);
    const reply = await postColumns<{ curves: CurveHeader[] }>('scalars', { queries: some }, signal);
    found.push(...curvesOf(reply, some.length));
  }
  return found;
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    send();
  });
}

function send(): void {
  while (pending.size > 0 && inFlight.size < MOST_REQUESTS_IN_FLIGHT) {
    const batch = new Map<object, PendingQueries>();
    let count = 0;
    for (const [owner, one] of pending) {
      if (count > 0 && count + one.queries.length > MOST_QUERIES) break;
      batch.set(owner, one);
      pending.delete(owner);
      count += one.queries.length;
    }
    void sendBatch(batch);
  }
}

async function sendBatch(batch: Map<object, PendingQueries>): Promise<void> {
  const request: Request = { waiting: batch, controller: new AbortController() };
  inFlight.add(request);
  const places: { owner: object; first: number; count: number }[] = [];
  const queries: CurveQuery[] = [];
  for (const [owner, one] of batch) {
    places.push({ owner, first: queries.length, count: one.queries.length });
    queries.push(...one.queries);
  }
  try {
    const byQuery = await fetchCurves(queries, request.controller.signal);
    for (const { owner, first, count } of places) {
      request.waiting.get(owner)?.onLoaded(byQuery.slice(first, first + count), null);
    }
  } catch (error) {
    if (!request.controller.signal.aborted) {
      // One invalid query must not take the curves of the others: each owner's queries are sent again alone.
      if (places.length > 1 && error instanceof ApiError && error.status < 500) {
        for (const one of request.waiting) void sendBatch(new Map([one]));
      } else {
        for (const { onLoaded } of request.waiting.values()) onLoaded(null, messageOf(error));
      }
    }
  } finally {
    inFlight.delete(request);
    if (pending.size > 0) schedule();
  }
}

export function curvesOf(
  { header, columns }: Columns<{ curves: CurveHeader[] }>,
  count: number,
): LoadedCurve[][] {
  const found: LoadedCurve[][] = Array.from({ length: count }, () => []);
  const floats = (column: Column | undefined): LoadedCurve['y'] | null =>
    column === undefined
      ? null
      : column instanceof Float32Array || column instanceof Float64Array
        ? column
        : numbers(column);
  const wide = new Map<string, Float64Array<ArrayBuffer>>();
  for (const curve of header.curves) {
    const column = (kind: string) => columns[curve.columns[kind] ?? ''];
    const name = curve.columns.x!;
    let x = wide.get(name);
    if (!x) {
      x = numbers(columns[name]!);
      wide.set(name, x);
    }
    found[curve.query]!.push({
      run: curve.run ?? null,
      group: curve.group ?? null,
      n: curve.n,
      drawn: curve.drawn,
      superseded: curve.superseded ?? 0,
      x,
      y: floats(column('y'))!,
      flags: (column('flags') as Uint8Array<ArrayBuffer> | undefined) ?? null,
      raw: floats(column('raw_y')),
      lo: floats(column('lo')),
      hi: floats(column('hi')),
    });
  }
  return found;
}
