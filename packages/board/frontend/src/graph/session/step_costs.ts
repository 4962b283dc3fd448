/** The costs of ops in the chosen traced steps, by which a graph can be coloured. */
import { computed, effect, signal } from '@preact/signals';
import { getColumns, getJson } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { series, tagById } from '../../state/catalogue.ts';
import { type Costs, summed } from '../model/cost_sums.ts';
import type { GraphModel } from '../model/graph_model.ts';
import { colourMode } from './address.ts';
import type { GraphEntry } from './graph_list.ts';

export interface TraceEntry {
  id: number;
  run: number;
  tag: string;
  step: number;
}

/** Time or memory, by op: -1 where it did not run. */
export interface Spread extends Costs {
  min: ArrayLike<number>;
  max: ArrayLike<number>;
}

export interface ShownCosts {
  time: Spread;
  memory: Spread;
  /** In how many of the steps each op ran. */
  runs: ArrayLike<number>;
  /** How many steps were requested, and how many of them were read. */
  requested: number;
  read: number;
}

const tracedSteps = computed(() =>
  series.value.reduce((n, one) => n + (tagById.value.get(one.tag)?.kind === 'run_metadata' ? one.n : 0), 0),
);

/** The costs of one graph; they follow the log while the graph is coloured by them. */
export class StepCosts {
  /** The traced steps of all runs, those of this graph's run first; null until they are known. */
  readonly traces = signal<TraceEntry[] | null>(null);
  /** The chosen ones; null means all of this graph's run, including later ones. */
  readonly chosen = signal<ReadonlySet<number> | null>(null);
  readonly shown = signal<ShownCosts | null>(null);
  /** A message while there is nothing to show. */
  readonly message = signal('');
  private readonly entry: GraphEntry;
  private readonly model: GraphModel;
  private listTurn = 0;
  private abort: AbortController | null = null;
  private shownIds = '';

  constructor(entry: GraphEntry, model: GraphModel) {
    this.entry = entry;
    this.model = model;
  }

  isOwn(trace: TraceEntry): boolean {
    return trace.run === this.entry.run;
  }

  chosenIds(): number[] {
    const { value: chosen } = this.chosen;
    return (this.traces.value ?? []).filter((t) => chosen?.has(t.id) ?? this.isOwn(t)).map((t) => t.id);
  }

  choose(id: number, on: boolean): void {
    const next = new Set(this.chosenIds());
    if (on) next.add(id);
    else next.delete(id);
    this.chosen.value = next;
  }

  /** Fetches costs whenever the choice or the traces change. Returns: a function that ends this. */
  follow(): () => void {
    const stops = [
      effect(() => {
        const { value: mode } = colourMode;
        if (mode !== 'time' && mode !== 'memory') return;
        void tracedSteps.value;
        void this.list();
      }),
      effect(() => {
        const { value: mode } = colourMode;
        if (mode !== 'time' && mode !== 'memory') return;
        if (this.traces.value) void this.load(this.chosenIds());
      }),
    ];
    return () => {
      for (const stop of stops) stop();
      this.listTurn++;
      this.abort?.abort();
    };
  }

  private async list(): Promise<void> {
    const turn = ++this.listTurn;
    try {
      const reply = await getJson<{ traces: (TraceEntry & { step: number | null })[] }>('traces');
      // The slices of a profiler's trace file are no nodes of a graph.
      const traces = reply.traces.filter((one): one is TraceEntry => one.step !== null);
      if (turn !== this.listTurn) return;
      this.traces.value = [...traces].sort((a, b) => Number(this.isOwn(b)) - Number(this.isOwn(a)));
    } catch (error) {
      if (turn === this.listTurn)
        this.message.value = `The traced steps could not be listed: ${messageOf(error)}`;
    }
  }

  private async load(ids: number[]): Promise<void> {
    if (ids.length > 0 && ids.join() === this.shownIds) return;
    this.abort?.abort();
    this.shownIds = '';
    if (ids.length === 0) {
      this.shown.value = null;
      this.message.value = this.nothing();
      return;
    }
    const controller = new AbortController();
    this.abort = controller;
    this.message.value = 'Reading the traced steps…';
    try {
      const { header, columns } = await getColumns<{ traces: number }>(
        `graph/${this.entry.id}/costs`,
        { traces: ids.join(',') },
        controller.signal,
      );
      if (controller.signal.aborted) return;
      const figures = columns as unknown as Record<string, Float64Array>;
      this.shownIds = ids.join();
      this.message.value = '';
      this.shown.value = {
        time: spread(this.model, figures, 'time_us'),
        memory: spread(this.model, figures, 'memory'),
        runs: figures.runs!,
        requested: ids.length,
        read: header.traces,
      };
    } catch (error) {
      if (controller.signal.aborted) return;
      this.shown.value = null;
      this.message.value = `The traced steps could not be read: ${messageOf(error)}`;
    }
  }

  private nothing(): string {
    const all = this.traces.peek() ?? [];
    if (this.chosen.peek()) return 'No step is chosen.';
    if (all.length === 0) return 'These logs have no traced step.';
    return this.entry.run === null
      ? 'A file has no traced steps of its own; choose steps of a run above.'
      : 'This run has no traced step; steps of other runs can be chosen above.';
  }
}

function spread(model: GraphModel, figures: Record<string, Float64Array>, name: string): Spread {
  return {
    ...summed(model, figures[`${name}_median`]!),
    min: figures[`${name}_min`]!,
    max: figures[`${name}_max`]!,
  };
}
