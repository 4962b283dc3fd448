/** The differences of the shown graph from another, by vertex for colours and by name for lists. */
import { effect, signal } from '@preact/signals';
import { getColumns, getJson } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import type { Difference } from '../drawing/paint.ts';
import { type Counts, kindsOf, type Sums } from '../model/difference_kinds.ts';
import type { GraphModel } from '../model/graph_model.ts';
import { otherName } from './address.ts';
import { type GraphEntry, graphNamed, graphs } from './graph_list.ts';

/** The reply of /graph/diff; its lists are cut, its counts are not. */
export interface DiffReply {
  added: string[];
  removed: string[];
  changed: { name: string; what: string[]; vertex: number; vertex_a: number }[];
  moved: { from: string; to: string; vertex: number; vertex_a: number }[];
  added_vertices: number[];
  removed_vertices: number[];
  same: number;
  counts: Counts;
}

export interface ShownDifference extends Difference {
  other: GraphEntry;
  reply: DiffReply;
  below: Sums;
  /** What changed of an op, by vertex. */
  what: ReadonlyMap<number, string[]>;
  movedFrom: ReadonlyMap<number, string>;
}

/** The comparison of one graph with the one that the address names. */
export class Comparison {
  readonly shown = signal<ShownDifference | null>(null);
  /** A message while there is nothing to show. */
  readonly message = signal('');
  private readonly entry: GraphEntry;
  private readonly model: GraphModel;
  private abort: AbortController | null = null;
  private other: GraphEntry | null = null;

  constructor(entry: GraphEntry, model: GraphModel) {
    this.entry = entry;
    this.model = model;
  }

  /** Compares whenever the address names another graph that exists. Returns: a function that ends this. */
  follow(): () => void {
    const stop = effect(() => {
      const name = otherName.value;
      const other = name === '' ? null : graphNamed(graphs.value ?? [], name);
      if (other && other.id === this.other?.id) return;
      this.other = other;
      this.abort?.abort();
      this.shown.value = null;
      if (other && other.key !== this.entry.key) void this.load(other);
      else if (name === '') this.message.value = 'Choose a graph to compare with.';
      else if (other) this.message.value = 'This is the graph itself; choose another one.';
      else this.message.value = `There is no graph “${name}” in these logs.`;
    });
    return () => {
      stop();
      this.abort?.abort();
    };
  }

  private async load(other: GraphEntry): Promise<void> {
    const controller = new AbortController();
    this.abort = controller;
    this.message.value = 'Comparing…';
    try {
      const sides = { a: other.id, b: this.entry.id };
      const [reply, { columns }] = await Promise.all([
        getJson<DiffReply>('graph/diff', sides, controller.signal),
        getColumns('graph/diff/kinds', sides, controller.signal),
      ]);
      if (controller.signal.aborted) return;
      const numbers = columns as unknown as Sums & { kinds: Uint8Array };
      this.message.value = '';
      this.shown.value = {
        other,
        reply,
        below: numbers,
        kind: kindsOf(this.model, numbers.kinds, numbers),
        what: new Map(reply.changed.map((c) => [c.vertex, c.what])),
        movedFrom: new Map(reply.moved.map((m) => [m.vertex, m.from])),
      };
    } catch (error) {
      if (controller.signal.aborted) return;
      this.message.value = `The graphs could not be compared: ${messageOf(error)}`;
    }
  }
}
