/** Which graphs there are, and which of them the address names. */
import { batch, computed, signal } from '@preact/signals';
import { address, goTo } from '../../address/url_state.ts';
import { getJson, sendBytes } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { selectedNode } from '../../state/selection.ts';
import { cameraInUrl, graphName, tracing, viewText } from './address.ts';

export interface GraphEntry {
  /** The server's number, valid until it restarts. */
  id: number;
  /** Unique, and the same after a restart of the server. */
  key: string;
  run: number | null;
  title: string;
  kind: string;
  /** null until the graph was read once. */
  nodes: number | null;
  edges: number | null;
}

export const graphs = signal<GraphEntry[] | null>(null);
export const listFailure = signal<string | null>(null);
export const uploadFailure = signal<string | null>(null);

/** The graph with a key; older addresses have a title instead. */
export function graphNamed(all: readonly GraphEntry[], name: string): GraphEntry | null {
  return all.find((g) => g.key === name) ?? all.find((g) => g.title === name) ?? null;
}

/** Graphs that were to be shown first but cannot be, with the reason. */
export const unreadable = signal<ReadonlyMap<string, { entry: GraphEntry; failure: string }>>(new Map());

/** The graph to show; null while the one that the address names does not exist. */
export const current = computed<GraphEntry | null>(() => {
  const all = graphs.value ?? [];
  if (graphName.value !== '') return graphNamed(all, graphName.value);
  return all.find((g) => !unreadable.value.has(g.key)) ?? all[0] ?? null;
});

let turn = 0;

export async function loadGraphs(): Promise<void> {
  const mine = ++turn;
  try {
    const found = (await getJson<{ graphs: GraphEntry[] }>('graphs')).graphs;
    if (mine !== turn) return;
    graphs.value = found;
    listFailure.value = null;
  } catch (error) {
    if (mine === turn) listFailure.value = messageOf(error);
  }
}

/** Shows another graph, from its beginning; the browser's Back button leads to the one before. */
export function chooseGraph(entry: GraphEntry): void {
  if (current.peek()?.key === entry.key) return;
  // Changes of the address replace the current history entry, so a new one is pushed first.
  history.pushState(null, '', address());
  batch(() => {
    graphName.value = entry.key;
    viewText.value = '';
    cameraInUrl.value = null;
    selectedNode.value = '';
    tracing.value = 'none';
  });
}

export async function upload(file: File): Promise<void> {
  try {
    const { id } = await sendBytes<{ id: number }>('graphs/upload', { name: file.name }, file);
    await loadGraphs();
    uploadFailure.value = null;
    const entry = graphs.peek()?.find((g) => g.id === id);
    if (entry) chooseGraph(entry);
  } catch (error) {
    uploadFailure.value = `${file.name}: ${messageOf(error)}`;
  }
}

/** The graph of a run. */
function graphOfRun(run: number): GraphEntry | null {
  const mine = (graphs.peek() ?? []).filter((g) => g.run === run);
  return (
    mine.findLast((g) => g.kind === 'graph_def') ??
    mine.find((g) => g.kind !== 'run_metadata') ??
    mine[0] ??
    null
  );
}

/** Shows a node of a run's graph on the Graph page. */
export async function showGraphOfRun(run: number, node: string): Promise<void> {
  if (!graphOfRun(run)) await loadGraphs();
  const entry = graphOfRun(run);
  goTo('graph');
  batch(() => {
    if (entry && current.peek()?.key !== entry.key) {
      graphName.value = entry.key;
      viewText.value = '';
      cameraInUrl.value = null;
    }
    selectedNode.value = node;
  });
}
