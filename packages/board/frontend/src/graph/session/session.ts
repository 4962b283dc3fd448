/** One open graph: its model, its view, the worker that lays it out, and the scene that is drawn. */
import { batch, effect, type Signal, signal, untracked } from '@preact/signals';
import { beginStep } from '../../address/url_state.ts';
import type { Column } from '../../api/columns.ts';
import { startWorker } from '../../browser/workers.ts';
import { selectedNode } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import { record } from '../../testing/test_hook.ts';
import type { Emphasis } from '../drawing/surface.ts';
import { firstView } from '../model/first_view.ts';
import { type GraphHeader, GraphModel } from '../model/graph_model.ts';
import { CLOSED, itemOf, reveal, type ViewState } from '../model/view_state.ts';
import { decodeView, encodeView } from '../model/view_text.ts';
import { IndexedScene, type SceneMessage } from '../scene/indexed_scene.ts';
import { cameraInUrl, graphName, tracing, viewText } from './address.ts';
import { Comparison } from './comparison.ts';
import { ALL_ALIKE, emphasisOf } from './emphasis.ts';
import { current, type GraphEntry } from './graph_list.ts';
import { LayoutClient } from './layout_client.ts';
import { type GraphSearch, graphSearch } from './search.ts';
import { StepCosts } from './step_costs.ts';
import { type LookAt, toggled, type ViewEdit } from './view_edits.ts';

export class Session {
  readonly entry: GraphEntry;
  readonly model: GraphModel;
  readonly view: Signal<ViewState>;
  readonly scene = signal<IndexedScene | null>(null);
  /** The item that is selected: a vertex or a series. */
  readonly selected = signal<number | null>(null);
  /** A name from another page or the address that this graph does not have; "" without one. */
  readonly unknown = signal('');
  readonly costs: StepCosts;
  readonly comparison: Comparison;
  readonly search: GraphSearch;
  readonly layout: LayoutClient;
  readonly labels: string[];
  /** The item that keeps its position in the next scene, and the item that the camera shows then. */
  anchor: number | null = null;
  lookAt: LookAt | null = null;
  /** The view of the scene that is shown. */
  shownView: ViewState = CLOSED;
  private readonly stops: (() => void)[] = [];
  /** The view text that was last read from or written to the address, and its view. */
  private seenText: string;
  private seenView: ViewState;

  /**
   * Args:
   *   shownBefore: the node that was selected when the page was left; null on the first visit.
   */
  constructor(
    entry: GraphEntry,
    header: GraphHeader,
    columns: Record<string, Column>,
    shownBefore: string | null,
  ) {
    this.entry = entry;
    this.model = new GraphModel({ header, columns });
    this.labels = this.model.labels;
    makeSafe(this.labels);
    this.search = graphSearch(this.model);
    const sent = columns.parent!.buffer as ArrayBuffer;
    const font = getComputedStyle(document.body).fontFamily;
    this.layout = new LayoutClient(
      (failed) => startWorker('layout', failed),
      () => ({ kind: 'load', bundle: sent.slice(0), font }),
      (message, view) => this.received(message, view),
    );
    this.costs = new StepCosts(entry, this.model);
    this.comparison = new Comparison(entry, this.model);
    this.seenText = viewText.peek();
    const decoded = decodeView(this.model, entry.key, this.seenText);
    this.seenView = decoded ?? firstView(this.model);
    this.view = signal(this.viewWithSelection(this.seenView, shownBefore));
    // From here on the address names the graph of its view.
    if (decoded) graphName.value = entry.key;
    this.stops.push(
      effect(() => this.layout.request(this.view.value)),
      effect(() => {
        const view = this.view.value;
        if (view === this.seenView) return;
        this.seenText = encodeView(this.model, entry.key, view);
        this.seenView = view;
        viewText.value = this.seenText;
      }),
      effect(() => {
        const requested = viewText.value;
        if (requested === this.seenText) return;
        const view = decodeView(this.model, entry.key, requested);
        // A view of another graph waits for that graph.
        if (!view || untracked(() => current.value)?.key !== entry.key) return;
        this.seenText = requested;
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

  /** The view of the address, in which the node that another page has selected is visible. */
  private viewWithSelection(view: ViewState, shownBefore: string | null): ViewState {
    const name = selectedNode.peek();
    const elsewhere = shownBefore !== null && shownBefore !== name;
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

  private received(message: SceneMessage, view: ViewState): void {
    record('layout', () => ({ milliseconds: message.milliseconds }));
    this.shownView = view;
    this.scene.value = new IndexedScene(message, view.pulled);
  }

  /** Cancels a layout in progress and returns to the view that is shown. */
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

  /** The vertex or the series of a name, -1 if there is none. */
  private find(name: string): number {
    const v = this.model.find(name);
    if (v >= 0 || !name.includes('[')) return v;
    const s = this.model.header.series.findIndex((_, i) => this.nameOfItem(this.model.total + i) === name);
    return s < 0 ? -1 : this.model.total + s;
  }

  /** Opens the groups around an item, selects it, and moves the camera to it. */
  goTo(item: number): void {
    beginStep();
    batch(() => {
      this.select(item);
      this.lookAt = { item, whole: false };
      this.anchor = null;
      this.view.value = reveal(this.model, this.view.peek(), item);
    });
  }

  /** Shows an edited view. */
  apply(edit: ViewEdit | null): void {
    if (!edit) return;
    beginStep();
    this.anchor = edit.anchor;
    if (edit.lookAt) this.lookAt = edit.lookAt;
    if (edit.select !== undefined) this.select(edit.select);
    this.view.value = edit.view;
  }

  /** Opens or closes a group or a series; `onlyOne` takes one member out of a series. */
  toggle(item: number, onlyOne = false): void {
    this.apply(toggled(this.model, this.view.peek(), item, onlyOne));
  }

  /** The index in the scene of an item, or of the closed group or series that contains it. */
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

  /** The emphasised items and edges for the selection, or for the trace of its inputs or outputs. */
  emphasis(): Emphasis {
    const scene = this.scene.value;
    const selected = this.selected.value;
    if (!scene || selected === null) return ALL_ALIKE;
    return emphasisOf(this.model, scene, selected, tracing.value);
  }
}

/** Replaces labels that are long or hold other than printable ASCII characters; the test is cheap for the rest. */
function makeSafe(labels: string[]): void {
  for (let v = 0; v < labels.length; v++) {
    const label = labels[v]!;
    if (!/^[ -~]*$/.test(label) || label.length > 500) labels[v] = safeText(label, 500);
  }
}
