/** Which graph is open: the one that the address names. */
import { batch, effect, signal, untracked } from '@preact/signals';
import { ApiError, getColumns } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { selectedNode } from '../../state/selection.ts';
import type { GraphHeader } from '../model/graph_model.ts';
import { graphName } from './address.ts';
import { current, type GraphEntry, graphs, unreadable } from './graph_list.ts';
import { Session } from './session.ts';

export const session = signal<Session | null>(null);
/** The graph that is being read, with the reason if that failed. */
export const opening = signal<{ entry: GraphEntry; failure: string } | null>(null);

let abort: AbortController | null = null;
/** The node that was selected when the page was left; null while it is shown, and before the first visit. */
let leftAt: string | null = null;

/** Keeps the graph that the address names open. Returns: a function that stops this and closes the graph. */
export function followAddress(): () => void {
  const stop = effect(() => {
    const entry = current.value;
    untracked(() => open(entry));
  });
  return () => {
    stop();
    leftAt = selectedNode.peek();
    open(null);
  };
}

function open(entry: GraphEntry | null): void {
  const known = session.peek()?.entry ?? opening.peek()?.entry;
  if (entry && known && known.key === entry.key && known.id === entry.id) return;
  abort?.abort();
  abort = null;
  // The old graph closes at once, because the view in the address now belongs to the new one.
  batch(() => {
    session.peek()?.close();
    session.value = null;
    opening.value = null;
  });
  if (entry) void read(entry);
}

export async function read(entry: GraphEntry): Promise<void> {
  const controller = new AbortController();
  abort = controller;
  opening.value = { entry, failure: '' };
  try {
    const { header, columns } = await getColumns<GraphHeader>(`graph/${entry.id}`, {}, controller.signal);
    if (controller.signal.aborted) return;
    batch(() => {
      session.value = new Session(entry, header, columns, leftAt);
      leftAt = null;
      opening.value = null;
    });
  } catch (error) {
    if (controller.signal.aborted) return;
    const failure = messageOf(error);
    // The reader has not asked for this graph: another one that can be read is shown in its place.
    if (graphName.peek() === '' && isDamaged(error) && hasOther(entry)) {
      unreadable.value = new Map(unreadable.peek()).set(entry.key, { entry, failure });
    } else opening.value = { entry, failure };
  }
}

function isDamaged(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422;
}

function hasOther(entry: GraphEntry): boolean {
  return (graphs.peek() ?? []).some((g) => g.key !== entry.key && !unreadable.peek().has(g.key));
}
