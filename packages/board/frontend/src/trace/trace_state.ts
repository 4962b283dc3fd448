/** What the Trace page shows: which steps, which window, what is selected. */
import { batch, computed, effect, signal } from '@preact/signals';
import { runById, series, tagById } from '../state/catalogue.ts';
import { selectedNode, stepCursor } from '../state/selection.ts';
import { type Codec, choice, flag, list, text } from '../state/url_codec.ts';
import { urlSignal } from '../state/url_state.ts';
import { groupsOf, heightOf, layRows, type Row, type Section } from './rows.ts';
import { SCOPE_LEVELS } from './scope_runs.ts';
import { fitAll, formatView, parseView, type TimeView } from './time_view.ts';
import { fetchPlaces, fetchTraces, type Place, type SliceRef, type TraceRow } from './trace_api.ts';
import { fetchFamilies } from './trace_families.ts';
import { TraceModel } from './trace_model.ts';

const viewCodec: Codec<TimeView | null> = { encode: formatView, decode: parseView };

export type Colouring = 'kind' | 'op' | 'scope' | 'device' | 'family';

export const traceRun = urlSignal<string>('trun', text, '');
export const traceTag = urlSignal<string>('ttag', text, '');
/** Steps that are shown below the chosen one. */
export const comparedSteps = urlSignal<string[]>('tcmp', list, []);
/** null: all of the step. */
export const windowOfTime = urlSignal<TimeView | null>('tv', viewCodec, null);
export const colouring = urlSignal<Colouring>(
  'tcol',
  choice('kind', 'op', 'scope', 'device', 'family'),
  'kind',
);
export const showCritical = urlSignal<boolean>('tcrit', flag, false);
export const showArrows = urlSignal<boolean>('tarr', flag, true);
/** auto: where there are few lanes. */
export const scopesChoice = urlSignal<'auto' | 'on' | 'off'>('tsco', choice('auto', 'on', 'off'), 'auto');
export const showMemory = urlSignal<boolean>('tmem', flag, true);
export const closedGroups = urlSignal<string[]>('tclosed', list, []);

/** All traces of the log; null until the first answer. */
export const traces = signal<TraceRow[] | null>(null);

export const tracedRuns = computed(() => {
  const runs = new Map<number, TraceRow[]>();
  for (const row of traces.value ?? []) {
    const rows = runs.get(row.run);
    if (rows) rows.push(row);
    else runs.set(row.run, [row]);
  }
  return runs;
});

export const chosenRun = computed<number | null>(() => {
  const runs = [...tracedRuns.value.keys()];
  return runs.find((id) => runById.value.get(id)?.name === traceRun.value) ?? runs[0] ?? null;
});

/** The trace nearest to the step cursor; the last one without a cursor. */
export const chosen = computed<TraceRow | null>(() => {
  const rows = chosenRun.value === null ? [] : (tracedRuns.value.get(chosenRun.value) ?? []);
  const cursor = stepCursor.value;
  if (cursor === null) return rows.at(-1) ?? null;
  let best: TraceRow | null = null;
  for (const row of rows) {
    const away = Math.abs(row.step - cursor);
    const before = best ? Math.abs(best.step - cursor) : Number.POSITIVE_INFINITY;
    if (away < before || (away === before && row.tag === traceTag.value)) best = row;
  }
  return best;
});

const compared = computed<TraceRow[]>(() => {
  const rows = chosenRun.value === null ? [] : (tracedRuns.value.get(chosenRun.value) ?? []);
  const wanted = new Set(comparedSteps.value);
  return rows.filter((row) => wanted.has(String(row.step)) && row.id !== chosen.value?.id).slice(0, 5);
});

const models = new Map<number, TraceModel>();
const KEPT_MODELS = 8;
/** How wide the lanes are, in CSS pixels. */
export const lanesWidth = signal(1200);
export const lanesHeight = signal(700);
/** A step of few lanes uses the room that there is, up to this much. */
const MOST_STRETCH = 1.5;
const OF_THE_ROOM = 0.7;

function modelOf(id: number): TraceModel {
  let model = models.get(id);
  if (!model) {
    model = new TraceModel(id);
    models.set(id, model);
    void model.open(lanesWidth.peek());
    for (const old of [...models.keys()]) {
      if (models.size <= KEPT_MODELS) break;
      if (!shownIds.has(old) && old !== id) models.delete(old);
    }
  }
  return model;
}
let shownIds = new Set<number>();

/** The steps that are shown, the chosen one first. */
export const shown = computed<TraceModel[]>(() => {
  const rows = chosen.value ? [chosen.value, ...compared.value] : [];
  shownIds = new Set(rows.map((row) => row.id));
  return rows.map((row) => modelOf(row.id));
});
export const mainTrace = computed<TraceModel | null>(() => shown.value[0] ?? null);

export const duration = computed(() =>
  Math.max(1, ...shown.value.map((model) => model.header.value?.duration_ns ?? 1)),
);
export const timeView = computed<TimeView>(() => windowOfTime.value ?? fitAll(duration.value));

export const sections = computed<Section[]>(() => {
  const many = shown.value.length > 1;
  return shown.value.flatMap((model) => {
    void model.version.value;
    const header = model.header.value;
    if (!header) return [];
    const titles = new Map(header.lanes.map((lane) => [lane.task, lane.task_title]));
    const tasks = groupsOf(header.lanes).length > 1 && titles.size > 1;
    const memory = model.memory.map((curve) => {
      const what = curve.source === 'outputs' ? 'memory (estimate)' : `memory ${curve.name}`;
      return tasks ? `${titles.get(curve.task) ?? curve.task} · ${what}` : what;
    });
    const title = many ? `step ${header.step}` : '';
    return [{ trace: model.id, title, duration: header.duration_ns, lanes: header.lanes, memory }];
  });
});
const FEW_LANES = 3;
export const showScopes = computed(() => {
  if (scopesChoice.value !== 'auto') return scopesChoice.value === 'on';
  return sections.value.reduce((n, section) => n + section.lanes.length, 0) <= FEW_LANES;
});
export const rows = computed<Row[]>(() => {
  const closed = new Set(closedGroups.value);
  const levels = showScopes.value ? SCOPE_LEVELS : 0;
  const laid = layRows(sections.value, closed, showMemory.value, 1, levels);
  const stretch = Math.min(MOST_STRETCH, (OF_THE_ROOM * lanesHeight.value) / Math.max(1, heightOf(laid)));
  return stretch > 1 ? layRows(sections.value, closed, showMemory.value, stretch, levels) : laid;
});

export interface Area {
  trace: number;
  t0: number;
  t1: number;
  /** null: all. */
  lanes: number[] | null;
}

export const selectedSlice = signal<(SliceRef & { trace: number }) | null>(null);
export const selectedArea = signal<Area | null>(null);
export const mark = signal<{ t0: number; t1: number } | null>(null);
export const sidebarTab = urlSignal<'step' | 'slice' | 'area' | 'compare'>(
  'tside',
  choice('step', 'slice', 'area', 'compare'),
  'step',
);

export function chooseTrace(row: TraceRow): void {
  batch(() => {
    const sameRun = row.run === chosenRun.peek();
    traceRun.value = runById.peek().get(row.run)?.name ?? '';
    traceTag.value = row.tag;
    stepCursor.value = row.step;
    selectedSlice.value = null;
    selectedArea.value = null;
    mark.value = null;
    if (!sameRun) {
      comparedSteps.value = [];
      windowOfTime.value = null;
    }
  });
}

/** Steps to the next or the previous trace of the run. */
export function chooseNeighbour(by: 1 | -1): void {
  const run = chosenRun.peek();
  const all = run === null ? [] : (tracedRuns.peek().get(run) ?? []);
  const at = all.findIndex((row) => row.id === chosen.peek()?.id);
  const next = all[at + by];
  if (next) chooseTrace(next);
}

export function toggleCompared(step: number): void {
  const key = String(step);
  const now = comparedSteps.peek();
  comparedSteps.value = now.includes(key) ? now.filter((s) => s !== key) : [...now, key];
}

export function toggleGroup(key: string): void {
  const now = closedGroups.peek();
  closedGroups.value = now.includes(key) ? now.filter((k) => k !== key) : [...now, key];
}

/** The node of the graph that a slice is of; a tensor that came over the network is its maker's. */
function nodeOf(slice: SliceRef): string {
  return slice.op === 'RecvTensor' ? slice.node.replace(/^edge_\d+_/, '') : slice.node;
}

export function selectSlice(trace: number, slice: SliceRef | null): void {
  batch(() => {
    selectedSlice.value = slice && { ...slice, trace };
    if (slice) {
      selectedNode.value = nodeOf(slice);
      sidebarTab.value = 'slice';
    } else selectedNode.value = '';
  });
}

export function selectArea(area: Area | null): void {
  batch(() => {
    selectedArea.value = area;
    if (area) sidebarTab.value = 'area';
    else if (sidebarTab.peek() === 'area') sidebarTab.value = 'step';
  });
}

// The list of traces follows the catalogue.
const traceCount = computed(() =>
  series.value.reduce((n, one) => n + (tagById.value.get(one.tag)?.kind === 'run_metadata' ? one.n : 0), 0),
);

/** Keeps the state true while the page is shown. Returns: what ends that. */
export function followTraces(): () => void {
  const ends = [
    effect(() => {
      const run = chosenRun.value;
      if (colouring.value === 'family' && run !== null) void fetchFamilies(run);
    }),
    effect(() => {
      void traceCount.value;
      void fetchTraces()
        .then((found) => {
          traces.value = found;
        })
        .catch(() => undefined);
    }),
    effect(() => {
      const node = selectedNode.value;
      for (const model of shown.value) {
        if (!model.header.value) continue;
        if (!node) {
          model.marked = [];
          model.touch();
          continue;
        }
        void fetchPlaces(model.id, { name: node })
          .then(({ places }) => {
            if (selectedNode.peek() !== node) return;
            model.marked = places;
            model.touch();
            if (model === mainTrace.peek()) found(model, node, places);
          })
          .catch(() => undefined);
      }
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** A node that was selected elsewhere shows its first slice. */
function found(model: TraceModel, node: string, places: Place[]): void {
  const first = places[0];
  if (!first || selectedSlice.peek()?.node === node) return;
  selectedSlice.value = { ...first, node, op: '', trace: model.id };
}
