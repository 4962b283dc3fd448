/**
 * Requests about step traces and their replies (docs/board_api.md). The server calls the track of a thread a
 * lane, as TensorFlow's timeline.py does: fields named `lane` hold the number of a track.
 */
import { getColumns, getJson } from '../../api/client.ts';
import { numbers } from '../../api/columns.ts';
import { type ItemColumns, indexItems, joinItems, type TraceItems, type Window } from './trace_items.ts';

export interface TraceRow {
  id: number;
  run: number;
  tag: string;
  /** null for the trace file of a profiler, which has a title. */
  step: number | null;
  title: string;
  wall: number;
  bytes: number;
  slices: number | null;
  lane_count: number | null;
  duration_ns: number | null;
}

export interface Track {
  id: number;
  task: string;
  task_title: string;
  device: string;
  device_title: string;
  thread: string;
  row: number;
  slices: number;
  busy_ns: number;
}

export interface TraceHeader extends TraceRow {
  analysed: boolean;
  lanes: Track[];
  shown_lanes: number[];
  skew_ns: Record<string, number>;
  untimed: number;
  origin_ns: string;
  names: string[];
  ops: string[];
  n: number;
  drawn: number;
  slices: number;
  duration_ns: number;
}

export interface SliceRef {
  slice: number;
  node: string;
  op: string;
  lane: number;
  start: number;
  dur: number;
  /** The name in the run's graph, where it differs, as in the body of a function. */
  graph_node?: string;
}

export interface Stall {
  from: SliceRef | null;
  to: SliceRef;
  wait_ns: number;
  begin: number;
  kind: 'receive' | 'sync' | 'copy' | 'queue';
}

/** Whether a slice waited for something else than its own thread: a busy thread works, and is no fault. */
export const isWait = (stall: Stall): boolean => stall.kind !== 'queue';

export interface Transfer {
  name: string;
  from_slice: number;
  from_lane: number;
  from: number;
  to_slice: number;
  to_lane: number;
  to: number;
  bytes: number;
  direct: boolean;
}

export interface Hop {
  from_lane: number;
  from: number;
  to_lane: number;
  to: number;
  to_end: number;
  why: string;
}

export interface TotalRow {
  count: number;
  total_ns: number;
  max_ns: number;
}

export interface Totals {
  by_op: (TotalRow & { op: string })[];
  by_device: (TotalRow & { device: string })[];
  by_lane: (TotalRow & { lane: number })[];
  by_node: (TotalRow & { node: string; op: string })[];
  slices: number;
  total_ns: number;
}

export interface Summary {
  totals: Totals;
  critical_path: (SliceRef & { self_ns: number; gap_ns: number; why: string })[];
  critical: {
    slices: number;
    self_ns: number;
    gap_ns: number;
    by_op: { op: string; count: number; total_ns: number }[];
  };
  hops: Hop[];
  stalls: Stall[];
  transfers: Transfer[];
  transfer_count: number;
  skew_ns: Record<string, number>;
}

export interface SliceDetails extends SliceRef {
  kind: number;
  device: string;
  thread: string;
  scheduled: number;
  end: number;
  op_start: number;
  op_end: number;
  label: string;
  inputs: string[];
  fused: string[];
  outputs: {
    slot: number;
    dtype: string;
    shape: number[];
    unknown_rank: boolean;
    requested_bytes: number;
    allocated_bytes: number;
    allocator: string;
  }[];
  memory: {
    allocator: string;
    total_bytes: number;
    peak_bytes: number;
    live_bytes: number;
    records: number;
  }[];
  temporary_bytes: number;
  persistent_bytes: number;
  wall_start_ns: string;
  transfers: Transfer[];
  /** What a profiler has logged with the slice. */
  arguments: Record<string, unknown>;
  critical?: boolean;
}

export interface Allocator {
  name: string;
  task: string;
  source: 'records' | 'in_use' | 'outputs';
  peak: number;
  peak_ns: number;
  n: number;
}

export interface MemoryCurve extends Allocator {
  time: Float64Array;
  bytes: Float64Array;
}

export interface Place {
  slice: number;
  lane: number;
  start: number;
  dur: number;
}

export interface Comparison {
  traces: TraceRow[];
  ops: { op: string; totals_ns: number[] }[];
  nodes: { name: string; durations: number[] }[];
}

export async function fetchTraces(): Promise<TraceRow[]> {
  return (await getJson<{ traces: TraceRow[] }>('traces')).traces;
}

/** The most tracks in one reply of the server. */
const TRACKS_AT_ONCE = 256;

export async function fetchCut(
  trace: number,
  window: Partial<Window> & { px: number },
  lanes: number[] | null,
  signal?: AbortSignal,
): Promise<{ header: TraceHeader; items: TraceItems }> {
  const { t0, t1, px } = window;
  const parts: (number[] | null)[] = lanes ? [] : [null];
  for (let i = 0; lanes && i < Math.max(1, lanes.length); i += TRACKS_AT_ONCE) {
    parts.push(lanes.slice(i, i + TRACKS_AT_ONCE));
  }
  const replies = await Promise.all(
    parts.map((part) =>
      getColumns<TraceHeader & { t0: number; t1: number }>(
        `trace/${trace}`,
        { t0, t1, px, lanes: part?.join(',') },
        signal,
      ),
    ),
  );
  const { header } = replies[0]!;
  const { columns, names } = joinItems(
    replies.map((reply) => ({
      columns: reply.columns as unknown as ItemColumns,
      names: reply.header.names,
    })),
  );
  return { header, items: indexItems(columns, names, header.lanes.length, header.t0, header.t1) };
}

export function fetchSummary(trace: number): Promise<Summary> {
  return getJson<Summary>(`trace/${trace}/summary`);
}

export async function fetchTotals(
  trace: number,
  t0: number,
  t1: number,
  lanes: number[] | null,
): Promise<Totals> {
  const about = { t0, t1, lanes: lanes ? lanes.join(',') : undefined };
  return (await getJson<{ totals: Totals }>(`trace/${trace}/totals`, about)).totals;
}

export async function fetchMemory(trace: number, { t0, t1, px }: Window): Promise<MemoryCurve[]> {
  const reply = await getColumns<{ allocators: Allocator[] }>(`trace/${trace}/memory`, { t0, t1, px });
  return reply.header.allocators.map((allocator, i) => ({
    ...allocator,
    time: numbers(reply.columns[`time_${i}`]!),
    bytes: numbers(reply.columns[`bytes_${i}`]!),
  }));
}

export function fetchSlice(trace: number, slice: number): Promise<SliceDetails> {
  return getJson<SliceDetails>(`trace/${trace}/slice`, { slice });
}

export interface Everywhere {
  slices: (Place & { trace: number; step: number })[];
  /** Traces of the run that were not searched. */
  skipped?: { trace: number; step: number; error: string }[];
}

export function fetchEverywhere(trace: number, name: string): Promise<Everywhere> {
  return getJson<Everywhere>(`trace/${trace}/slice`, { name });
}

export interface TraceNames {
  names: string[];
  /** How many slices each has. */
  counts: ArrayLike<number>;
  /** By index of a name: its name in the run's graph, where that differs. */
  graphNodes: ReadonlyMap<number, string>;
}

export async function fetchNames(trace: number): Promise<TraceNames> {
  const { header, columns } = await getColumns<{
    names: string[];
    graph_nodes?: Record<string, string>;
  }>(`trace/${trace}/names`);
  return {
    names: header.names,
    counts: columns.count as unknown as ArrayLike<number>,
    graphNodes: new Map(Object.entries(header.graph_nodes ?? {}).map(([at, node]) => [Number(at), node])),
  };
}

/** Slices by indices of names, by one name, or by a node or scope (`prefix`); the first 5000 by time. */
export async function fetchPlaces(
  trace: number,
  of: { names?: number[]; name?: string; prefix?: string },
  signal?: AbortSignal,
): Promise<{ places: Place[]; total: number }> {
  const parameters = { names: of.names?.join(','), name: of.name, prefix: of.prefix };
  const reply = await getColumns<{ n: number }>(`trace/${trace}/slices`, parameters, signal);
  const { slice, lane, start, dur } = reply.columns;
  const places = Array.from(slice as ArrayLike<number | bigint>, (s, i) => ({
    slice: Number(s),
    lane: Number(lane![i]),
    start: Number(start![i]),
    dur: Number(dur![i]),
  }));
  return { places, total: reply.header.n };
}

export function fetchComparison(ids: number[]): Promise<Comparison> {
  return getJson<Comparison>('trace/compare', { ids: ids.join(',') });
}
