/** Fetches the curves of the cards in sight: one request a frame, none that nobody waits for. */
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
type Answer = (curves: LoadedCurve[][] | null, error: string | null) => void;

interface Wish {
  queries: CurveQuery[];
  answer: Answer;
}

/** Of a request. */
export const MOST_QUERIES = 16;
const MOST_AT_ONCE = 3;

const wishes = new Map<object, Wish>();
interface Flight {
  wishes: Map<object, Wish>;
  controller: AbortController;
}
const flights = new Set<Flight>();
let scheduled = false;
/** How many requests were sent and given up, for tests. */
export const loaderCounts = { sent: 0, aborted: 0 };

/** Asks for curves; a newer wish of the same owner takes the place of an older. */
export function wishFor(owner: object, queries: CurveQuery[], answer: Answer): void {
  giveUp(owner);
  wishes.set(owner, { queries, answer });
  schedule();
}

/** Nobody waits any more; a request that nobody waits for is aborted. */
export function giveUp(owner: object): void {
  wishes.delete(owner);
  for (const flight of flights) {
    if (!flight.wishes.delete(owner) || flight.wishes.size > 0) continue;
    flights.delete(flight);
    loaderCounts.aborted++;
    flight.controller.abort();
  }
}

export const isLoading = (): boolean => wishes.size > 0 || flights.size > 0;

/** The curves of each query, in as many requests as that takes. */
export async function fetchCurves(queries: CurveQuery[], signal?: AbortSignal): Promise<LoadedCurve[][]> {
  const found: LoadedCurve[][] = [];
  for (let from = 0; from < queries.length; from += MOST_QUERIES) {
    const some = queries.slice(from, from + MOST_QUERIES);
    loaderCounts.sent++;
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
  while (wishes.size > 0 && flights.size < MOST_AT_ONCE) {
    const taken = new Map<object, Wish>();
    let count = 0;
    for (const [owner, wish] of wishes) {
      if (count > 0 && count + wish.queries.length > MOST_QUERIES) break;
      taken.set(owner, wish);
      wishes.delete(owner);
      count += wish.queries.length;
    }
    void fly(taken);
  }
}

async function fly(taken: Map<object, Wish>): Promise<void> {
  const flight: Flight = { wishes: taken, controller: new AbortController() };
  flights.add(flight);
  const places: { wish: object; first: number; count: number }[] = [];
  const queries: CurveQuery[] = [];
  for (const [owner, wish] of taken) {
    places.push({ wish: owner, first: queries.length, count: wish.queries.length });
    queries.push(...wish.queries);
  }
  try {
    const byQuery = await fetchCurves(queries, flight.controller.signal);
    for (const { wish, first, count } of places) {
      flight.wishes.get(wish)?.answer(byQuery.slice(first, first + count), null);
    }
  } catch (error) {
    if (!flight.controller.signal.aborted) {
      const message = messageOf(error);
      const waiting = [...flight.wishes];
      // One bad query must not take the others' curves: each is asked for alone.
      if (places.length > 1 && error instanceof ApiError && error.status < 500) {
        for (const one of waiting) void fly(new Map([one]));
      } else {
        for (const [, { answer }] of waiting) answer(null, message);
      }
    }
  } finally {
    flights.delete(flight);
    if (wishes.size > 0) schedule();
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
