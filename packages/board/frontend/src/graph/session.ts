/** One opened graph: its model, its view, the worker that lays it out, and what is drawn of it. */
import { batch, computed, effect, type Signal, signal } from '@preact/signals';
import { getColumns, getJson } from '../api/client.ts';
import type { Column } from '../api/columns.ts';
import { safeText } from '../shell/safe_text.ts';
import { startWorker } from '../shell/workers.ts';
import { selectedNode } from '../state/selection.ts';
import { type Codec, choice, text } from '../state/url_codec.ts';
import { urlSignal } from '../state/url_state.ts';
import type { Camera } from './canvas/camera.ts';
import { IndexedScene, type SceneMessage } from './canvas/indexed_scene.ts';
import type { ColourMode, Costs, Difference } from './canvas/paint.ts';
import type { LayoutRequest } from './layout.worker.ts';
import { type GraphHeader, GraphModel } from './model/graph_model.ts';
import { type Direction, marksBelow, reach } from './model/reach.ts';
import { CLOSED, decodeView, encodeView, itemOf, reveal, type ViewState } from './model/view_state.ts';
import { Search } from './search.ts';

export interface GraphEntry {
  id: number;
  run: number | null;
  title: string;
  kind: string;
  /** null until the graph was read once. */
  nodes: number | null;
  edges: number | null;
}

const cameraCodec: Codec<Camera | null> = {
  encode: (c) =>
    c ? `${Math.round(c.x * 10) / 10},${Math.round(c.y * 10) / 10},${Number(c.k.toPrecision(5))}` : '',
  decode: (t) => {
    if (t === '') return null;
    const [x, y, k] = t.split(',').map(Number);
    return [x, y, k].every((v) => Number.isFinite(v)) && k! > 0 ? { x: x!, y: y!, k: k! } : undefined;
  },
};

/** Which graph: its name, as the number is only the server's. */
export const graphName = urlSignal<string>('graph', text, '');
export const otherName = urlSignal<string>('other', text, '');
export const viewText = urlSignal<string>('gview', text, '');
export const colourMode = urlSignal<ColourMode>(
  'colour',
  choice('structure', 'device', 'op', 'time', 'memory', 'diff'),
  'structure',
);
export const cameraInUrl = urlSignal<Camera | null>('cam', cameraCodec, null);
export const tracing = urlSignal<Direction | 'none'>(
  'reach',
  choice('none', 'inputs', 'outputs', 'both'),
  'none',
);

export const graphs = signal<GraphEntry[] | null>(null);
export const failure = signal<string | null>(null);
export const session = signal<Session | null>(null);

/** Titles are unique, and stay the same when the server starts again; numbers do not. */
export function nameOf(entry: GraphEntry): string {
  return entry.title;
}

export const current = computed(() => {
  const all = graphs.value;
  if (!all || all.length === 0) return null;
  return all.find((g) => nameOf(g) === graphName.value) ?? all[0]!;
});

export async function loadGraphs(): Promise<void> {
  try {
    graphs.value = (await getJson<{ graphs: GraphEntry[] }>('graphs')).graphs;
    failure.value = null;
  } catch (error) {
    failure.value = String(error instanceof Error ? error.message : error);
  }
}

let opening = 0;

export async function openGraph(entry: GraphEntry): Promise<void> {
  const turn = ++opening;
  try {
    const { header, columns } = await getColumns<GraphHeader>(`graph/${entry.id}`);
    if (turn !== opening) return;
    session.peek()?.close();
    session.value = new Session(entry, header, columns);
    failure.value = null;
  } catch (error) {
    if (turn === opening) failure.value = String(error instanceof Error ? error.message : error);
  }
}

export class Session {
  readonly entry: GraphEntry;
  readonly model: GraphModel;
  readonly view: Signal<ViewState>;
  readonly scene = signal<IndexedScene | null>(null);
  /** The item that is selected: a vertex or a stack. */
  readonly selected = signal<number | null>(null);
  readonly busy = signal(false);
  readonly costs = signal<{ time: Costs; memory: Costs; traces: number } | null>(null);
  readonly difference = signal<(Difference & { removed: string[]; added: number; changed: number }) | null>(
    null,
  );
  readonly search: Search;
  readonly labels: string[];
  /** The item that stays where it is when the next scene comes; and what to look at then. */
  anchor: number | null = null;
  lookAt: { item: number; whole: boolean } | null = null;
  layoutMs = 0;
  roundTripMs = 0;
  private readonly worker: Worker;
  private serial = 0;
  private asked = 0;
  private readonly stops: (() => void)[] = [];
  private seenText: string;

  constructor(entry: GraphEntry, header: GraphHeader, columns: Record<string, Column>) {
    this.entry = entry;
    this.model = new GraphModel({ header, columns });
    this.labels = this.model.labels;
    for (let v = 0; v < this.labels.length; v++) {
      const label = this.labels[v]!;
      if (!/^[ -~]*$/.test(label) || label.length > 500) this.labels[v] = safeText(label, 500);
    }
    this.search = new Search(this.model);
    this.worker = startWorker('layout');
    const bundle = (columns.parent!.buffer as ArrayBuffer).slice(0);
    const font = getComputedStyle(document.body).fontFamily;
    const load: LayoutRequest = { kind: 'load', bundle, font };
    this.worker.postMessage(load, [bundle]);
    this.worker.addEventListener('message', ({ data }: MessageEvent<SceneMessage>) => this.heard(data));
    this.seenText = viewText.peek();
    this.view = signal(this.seenText ? decodeView(this.model, this.seenText) : CLOSED);
    const wanted = selectedNode.peek();
    if (wanted) {
      const v = this.model.find(wanted);
      if (v >= 0) {
        this.selected.value = v;
        if (!this.seenText) {
          this.view.value = reveal(this.model, this.view.peek(), v);
          this.lookAt = { item: v, whole: false };
        }
      }
    }
    this.stops.push(
      effect(() => this.ask(this.view.value)),
      effect(() => {
        const said = encodeView(this.model, this.view.value);
        this.seenText = said;
        viewText.value = said;
      }),
      effect(() => {
        const wantedText = viewText.value;
        if (wantedText !== this.seenText) {
          this.seenText = wantedText;
          this.view.value = wantedText ? decodeView(this.model, wantedText) : CLOSED;
        }
      }),
      effect(() => {
        const name = selectedNode.value;
        const now = this.selected.peek();
        if (name === '' || (now !== null && this.nameOfItem(now) === name)) return;
        const v = this.model.find(name);
        if (v >= 0) this.goTo(v);
      }),
    );
  }

  close(): void {
    for (const stop of this.stops) stop();
    this.worker.terminate();
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

  private ask(view: ViewState): void {
    this.serial++;
    this.asked = performance.now();
    this.busy.value = true;
    const request: LayoutRequest = { kind: 'layout', serial: this.serial, view };
    this.worker.postMessage(request);
  }

  private heard(message: SceneMessage): void {
    if (message.serial !== this.serial) return;
    this.layoutMs = message.milliseconds;
    this.roundTripMs = performance.now() - this.asked;
    batch(() => {
      this.busy.value = false;
      const scene = new IndexedScene(message);
      for (const item of message.scene.item) {
        if (item < this.model.total) continue;
        const members = this.model.members[item - this.model.total]!;
        const { pulled } = this.view.peek();
        scene.stackCounts.set(item, members.filter((m) => !pulled.has(m)).length);
      }
      this.scene.value = scene;
    });
  }

  select(item: number | null): void {
    batch(() => {
      this.selected.value = item;
      selectedNode.value = item === null ? '' : item < this.model.total ? this.nameOfItem(item) : '';
      if (item === null) tracing.value = 'none';
    });
  }

  /** Opens what hides a vertex, selects it and looks at it. */
  goTo(v: number): void {
    batch(() => {
      this.select(v);
      this.lookAt = { item: v, whole: false };
      this.anchor = null;
      this.view.value = reveal(this.model, this.view.peek(), v);
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
  emphasis(): { lit: Uint8Array | null; bright: Set<number> | null } {
    const scene = this.scene.value;
    const selected = this.selected.value;
    const direction = tracing.value;
    if (!scene || selected === null) return { lit: null, bright: null };
    const { model } = this;
    const s = scene.scene;
    const vertices = selected < model.total ? [selected] : model.members[selected - model.total]!;
    const bright = new Set<number>();
    if (direction === 'none') {
      brightAround(scene, selected, bright);
      return { lit: null, bright: bright.size > 0 ? bright : null };
    }
    const marked = reach(model, vertices, direction);
    const sums = marksBelow(model, marked);
    const sumOf = (item: number) =>
      item < 0
        ? 1
        : item < model.total
          ? sums[item]!
          : model.members[item - model.total]!.reduce((a, m) => a + sums[m]!, 0);
    const lit = Uint8Array.from(s.item, (item) => (sumOf(item) > 0 ? 1 : 0));
    for (let e = 0; e < s.from.length; e++) {
      if (sumOf(s.from[e]!) > 0 && sumOf(s.to[e]!) > 0) bright.add(e);
    }
    return { lit, bright };
  }
}

/** The edges at an item, and their pieces beyond the borders that they cross. */
function brightAround(indexed: IndexedScene, item: number, bright: Set<number>): void {
  const s = indexed.scene;
  const at = indexed.indexOf.get(item);
  if (at === undefined) return;
  // Pieces by the group that they lie in, for the way outwards.
  const inner = s.parent[at]!;
  const crossing: { key: number; outgoing: boolean }[] = [];
  for (let e = 0; e < s.from.length; e++) {
    if (s.edgeGroup[e] !== inner) continue;
    if (s.from[e] === item) {
      bright.add(e);
      if (s.edgeFlags[e]! & 2) crossing.push({ key: s.to[e]!, outgoing: true });
    } else if (s.to[e] === item) {
      bright.add(e);
      if (s.edgeFlags[e]! & 1) crossing.push({ key: s.from[e]!, outgoing: false });
    }
  }
  let group = inner;
  while (group >= 0 && crossing.length > 0) {
    const outer = s.parent[group]!;
    const groupItem = s.item[group]!;
    const outgoing = new Set(crossing.filter((c) => c.outgoing).map((c) => c.key));
    const incoming = new Set(crossing.filter((c) => !c.outgoing).map((c) => c.key));
    for (let e = 0; e < s.from.length; e++) {
      if (s.edgeGroup[e] !== outer) continue;
      if (s.from[e] === groupItem && outgoing.has(s.to[e]!)) bright.add(e);
      else if (s.to[e] === groupItem && incoming.has(s.from[e]!)) bright.add(e);
    }
    group = outer;
  }
}
