/** Requests about where the nodes of traced steps run, and their replies (docs/board_api.md). */
import { getJson } from '../api/client.ts';

/** Times are microseconds; null: not known. */
export interface PlacedNode {
  node: string;
  /** The name in the run's graph; "" if the graph does not have the node. */
  graph_node: string;
  op: string;
  device: string;
  /** The short name of the device. */
  title: string;
  /** A key of REASONS (reasons.ts), or a number that this version does not know. */
  why: string;
  with: string;
  requested: string;
  request_ignored: boolean;
  estimates: { device: string; title: string; end_us: number | null }[];
  start_us: number | null;
  expected_us: number | null;
  measured_us: number | null;
  /** Whether the measured time is from this trace, not from earlier steps. */
  of_trace: boolean;
  ratio: number | null;
  output_bytes: number;
}

export interface PlacedDevice {
  id: number;
  name: string;
  title: string;
  nodes: number;
  expected_us: number;
  measured_us: number | null;
  measured_nodes: number;
}

export interface PlacedTransfer {
  tensor: string;
  from: string;
  to: string;
  bytes: number;
  expected_us: number | null;
}

export interface Receives {
  delayed: number;
  peak_bytes: number | null;
  peak_bytes_before: number | null;
  step_us: number | null;
  step_us_before: number | null;
}

export interface PlacementSummary {
  nodes: number;
  simulated: boolean;
  expected_us: number | null;
  first_devices_us: number | null;
  measured_us: number;
  receives: Receives | null;
  devices: PlacedDevice[];
  device_count: number;
  unused_devices: number;
  transfers: PlacedTransfer[];
  transfer_count: number;
  transfer_bytes: number;
}

export interface NodeQuery {
  order: string;
  find: string;
  device: number | null;
  from: number;
  count: number;
}

/** The placement of a trace without its nodes; null if it has none. */
export async function fetchPlacement(trace: number, signal?: AbortSignal): Promise<PlacementSummary | null> {
  const path = `trace/${trace}/placement`;
  return (await getJson<{ placement: PlacementSummary | null }>(path, {}, signal)).placement;
}

export function fetchNodes(
  trace: number,
  query: NodeQuery,
  signal?: AbortSignal,
): Promise<{ n: number; from: number; nodes: PlacedNode[] }> {
  return getJson(`trace/${trace}/placement/nodes`, { ...query }, signal);
}

/** The placement of a graph's node in the traced step that is nearest to a step, null: in the last one. */
export function fetchNodeOfGraph(
  graph: number,
  name: string,
  step: number | null,
  signal?: AbortSignal,
): Promise<{ node: PlacedNode | null; trace?: number; step?: number }> {
  return getJson(`graph/${graph}/placement`, { name, step }, signal);
}
