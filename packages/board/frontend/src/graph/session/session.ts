/** One opened graph: its model, its view, the worker that lays it out, and what is drawn of it. */
import { batch, effect, type Signal, signal, untracked } from '@preact/signals';
import { getColumns } from '../../api/client.ts';
import type { Column } from '../../api/columns.ts';
import { messageOf } from '../../api/error_message.ts';
import { startWorker } from '../../browser/workers.ts';
import { selectedNode } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import type { Emphasis } from '../drawing/surface.ts';
import { type GraphHeader, GraphModel } from '../model/graph_model.ts';
import { CLOSED, decodeView, encodeView, itemOf, reveal, type ViewState } from '../model/view_state.ts';
import { IndexedScene, type SceneMessage } from '../scene/indexed_scene.ts';
import { cameraInUrl, graphName, tracing, viewText } from './address.ts';
import { Comparison } from './comparison.ts';
import { ALL_ALIKE, emphasisOf } from './emphasis.ts';
import { current, type GraphEntry } from './graph_list.ts';
import { LayoutClient } from './layout_client.ts';
import { Search } from './search.ts';
import { StepCosts } from './step_costs.ts';

export const session = signal<Session | null>(null);
/** The graph that is being read, or could not be. */
export const opening = signal<{ entry: GraphEntry; failure: string } | null>(null);

let abort: AbortController | null = null;
/** The node that was selected when this page was left last; null while it is shown, or was never. */
let leftAt: string | null = null;

/** Shows the graph that the address names, from now on. Returns: what ends that. */
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
  // The old graph goes at once: what the address says of a view is from now on about the new one.
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
      session.value = new Session(entry, header, columns);
      opening.value = null;
    });
  } catch (error) {
    if (!controller.signal.aborted) opening.value = { entry, failure: messageOf(error) };
  }
}

export class Session {
  readonly entry: GraphEntry;
  readonly model: GraphModel;
  readonly view: Signal<ViewState>;
  readonly scene = signal<IndexedScene | null>(null);
  /** The item that is selected: a vertex or a stack. */
  readonly selected = signal<number | null>(null);
  /** The name that another page or the address selected, where this graph has no such node. */
  readonly unknown = signal('');
  readonly costs: StepCosts;
  readonly comparison: Comparison;
  readonly search: Search;
  readonly layout: LayoutClient;
  readonly labels: string[];
  /** The item that stays where it is when the next scene comes; and what to look at then. */
  anchor: number | null = null;
  lookAt: { item: number; whole: boolean } | null = null;
  layoutMs = 0;
  /** The view of the scene that is shown. */
  shownView: ViewState = CLOSED;
  private readonly stops: (() => void)[] = [];
  /** What the address said last, and the view that it stands for. */
  private seenText: string;
  private seenView: ViewState;

  constructor(entry: GraphEntry, header: GraphHeader, columns: Record<string, Column>) {
    this.entry = entry;
    this.model = new GraphModel({ header, columns });
    this.labels = this.model.labels;
    for (let v = 0; v < this.labels.length; v++) {
      const label = this.labels[v]!;
      if (!/^[ -~]*$/.test(label) || label.length > 500) this.labels[v] = safeText(label, 500);
    }
    this.search = new Search(this.model, (failed) => startWorker('search', failed));
    const sent = columns.parent!.buffer as ArrayBuffer;
    const { fontFamily } = getComputedStyle(document.body);
    this.layout = new LayoutClient(
      (failed) => startWorker('layout', failed),
      () => ({ kind: 'load', bundle: sent.slice(0), font: fontFamily }),
      (message, view) => this.heard(message, view),
    );
    this.costs = new StepCosts(entry, this.model);
    this.comparison = new Comparison(entry, this.model);
    this.seenText = viewText.peek();
    const said = decodeView(this.model, entry.key, this.seenText);
    this.seenView = said ?? CLOSED;
    this.view = signal(this.begin(this.seenView));
    // From here on the address says which graph its view is of.
    if (said) graphName.value = entry.key;
    this.stops.push(
      effect(() => {
        this.layout.ask(this.view.value);
      }),
      effect(() => {
        const view = this.view.value;
        if (view === this.seenView) return;
        this.seenText = encodeView(this.model, entry.key, view);
        this.seenView = view;
        viewText.value = this.seenText;
      }),
      effect(() => {
        const wanted = viewText.value;
        if (wanted === this.seenText) return;
        const view = decodeView(this.model, entry.key, wanted);
        // A view of another graph waits for that graph.
        if (!view || untracked(() => current.value)?.key !== entry.key) return;
        this.seenText = wanted;
        this.seenView = view;
        this.view.value = view;
      }),
      effect(() => {
        const name = selectedNode.value;
        const now = this.selected.peek();
        const known = name === '' || (now !== null && this.nameOfItem(now) === name);
        const v = known ? -1 : this.find(name);
        this.unknown.value = known || v >= 0 ? '' : name;
        if (v >= 0) this.goTo(v);
        else if (name === '' && now !== null) this.select(null);
      }),
      this.costs.follow(),
      this.comparison.follow(),
    );
  }

  /** The view to begin with: the address's own, with what another page selected in sight. */
  private begin(view: ViewState): ViewState {
    const name = selectedNode.peek();
    const elsewhere = leftAt !== null && leftAt !== name;
    leftAt = null;
    const v = name ? this.find(name) : -1;
    if (v < 0) return view;
    this.selected.value = v;
    if (this.seenText !== '' && !elsewhere) return view;
    this.lookAt = { item: v, whole: false };
    if (elsewhere) cameraInUrl.value = null;
    return reveal(this.model, view, v);
  }

  close(): void {
    for (const stop of this.stops) stop();
    this.layout.close();
    this.search.close();
  }

  label(item: number): string {
    const { model } = this;
    if (item < 0) return 'more';
    return item < model.total ? this.labels[item]! : model.header.series[item - model.total]!.pattern;
  }

  nameOfItem(item: number): string {
    const { model } = this;
    if (item < model.total) return model.path(item);
    const series = model.header.series[item - model.total]!;
    const parent = model.path(series.parent);
    return parent ? `${parent}/${series.pattern}` : series.pattern;
  }

  private heard(message: SceneMessage, view: ViewState): void {
    this.layoutMs = message.milliseconds;
    this.shownView = view;
    this.scene.value = new IndexedScene(message, view.pulled);
  }

  /** Goes back to the view that is shown, in place of the one that is being laid out. */
  cancelLayout(): void {
    if (!this.scene.peek()) return;
    this.layout.cancel();
    this.anchor = null;
    this.lookAt = null;
    this.view.value = this.shownView;
  }

  select(item: number | null): void {
    batch(() => {
      this.selected.value = item;
      selectedNode.value = item === null ? '' : this.nameOfItem(item);
      if (item === null) tracing.value = 'none';
    });
  }

  /** The vertex or the stack of a name, -1 if there is none. */
  private find(name: string): number {
    const v = this.model.find(name);
    if (v >= 0 || !name.includes('[')) return v;
    const s = this.model.header.series.findIndex((_, i) => this.nameOfItem(this.model.total + i) === name);
    return s < 0 ? -1 : this.model.total + s;
  }

  /** Opens what hides an item, selects it and looks at it. */
  goTo(item: number): void {
    batch(() => {
      this.select(item);
      this.lookAt = { item, whole: false };
      this.anchor = null;
      this.view.value = reveal(this.model, this.view.peek(), item);
    });
  }

  toggle(item: number, onlyOne = false): void {
    const { model } = this;
    const view = this.view.peek();
    this.anchor = item;
    if (item >= model.total) {
      if (onlyOne) {
        const next = model.members[item - model.total]!.find((v) => !view.pulled.has(v))!;
        this.view.value = { ...view, pulled: new Set(view.pulled).add(next) };
      } else {
        const s = item - model.total;
        const pulled = new Set([...view.pulled].filter((v) => model.series[v] !== s));
        this.anchor = model.members[s]![0]!;
        this.lookAt = { item: this.anchor, whole: false };
        this.select(this.anchor);
        this.view.value = { ...view, pulled, unfolded: new Set(view.unfolded).add(s) };
      }
      return;
    }
    if (!model.isGroup(item) || item === model.root) return;
    const open = new Set(view.open);
    if (view.allOpen) {
      // From "all" one group closes: the others are then opened by name.
      for (let g = model.root + 1; g < model.total; g++) open.add(g);
      open.delete(item);
      this.view.value = { ...view, allOpen: false, open };
      return;
    }
    if (open.has(item)) {
      open.delete(item);
      this.lookAt = { item: model.parent[item]!, whole: false };
    } else {
      open.add(item);
      this.lookAt = { item, whole: false };
    }
    this.view.value = { ...view, open };
  }

  /** Makes a stack of its members again. */
  fold(series: number): void {
    const view = this.view.peek();
    const unfolded = new Set(view.unfolded);
    unfolded.delete(series);
    const pulled = new Set([...view.pulled].filter((v) => this.model.series[v] !== series));
    this.anchor = null;
    this.select(this.model.total + series);
    this.lookAt = { item: this.model.total + series, whole: false };
    this.view.value = { ...view, unfolded, pulled };
  }

  moveToSide(item: number, side: boolean): void {
    const view = this.view.peek();
    const moved = new Map(view.moved);
    moved.set(item, side);
    this.anchor = null;
    this.view.value = { ...view, moved };
  }

  collapseAll(): void {
    this.anchor = null;
    this.lookAt = { item: this.model.root, whole: true };
    this.view.value = {
      ...this.view.peek(),
      open: new Set(),
      unfolded: new Set(),
      pulled: new Set(),
      allOpen: false,
    };
  }

  expandAll(): void {
    this.anchor = null;
    this.lookAt = { item: this.model.root, whole: true };
    this.view.value = { ...this.view.peek(), allOpen: true };
  }

  hideOp(op: number, hide: boolean): void {
    const view = this.view.peek();
    const hidden = new Set(view.hidden);
    if (hide) hidden.add(op);
    else hidden.delete(op);
    this.anchor = null;
    this.view.value = { ...view, hidden };
  }

  /** Where an item shows in the present scene: itself, or the closed group or stack that holds it. */
  standsFor(v: number): number {
    const scene = this.scene.peek();
    if (!scene) return -1;
    const view = this.view.peek();
    for (let at = v; at >= 0; at = this.model.parent[at]!) {
      const i = scene.indexOf.get(at);
      if (i !== undefined) return i;
      const item = itemOf(this.model, view, at);
      const j = scene.indexOf.get(item);
      if (j !== undefined) return j;
    }
    return -1;
  }

  /** Items that are lit and edges that are bright, for the selection and the trace of its inputs or outputs. */
  emphasis(): Emphasis {
    const scene = this.scene.value;
    const selected = this.selected.value;
    if (!scene || selected === null) return ALL_ALIKE;
    return emphasisOf(this.model, scene, selected, tracing.value);
  }
}
