/** The state of the Trace page: its steps, its window, its selection. */
import { batch, computed, effect, signal } from '@preact/signals';
import { messageOf } from '../../api/error_message.ts';
import { latest } from '../../api/live.ts';
import { runById, series, tagById } from '../../state/catalogue.ts';
import { stepCursor } from '../../state/selection.ts';
import { traceRun } from '../../state/trace_link.ts';
import {
  areaInUrl,
  closedGroups,
  colouring,
  comparedSteps,
  hiddenTracks,
  mark,
  pinnedTracks,
  scopesChoice,
  showMemory,
  sliceInUrl,
  traceTag,
  trackFilter,
  windowOfTime,
} from '../address/address_fields.ts';
import { traceKeys } from '../address/step_keys.ts';
import { fetchFamilies } from '../data/node_families.ts';
import { fetchTraces, type SliceRef, type TraceRow } from '../data/trace_api.ts';
import { TraceModel } from '../data/trace_model.ts';
import { groupsOf, heightOf, layOutRows, type Row, type Section, trackKey } from '../layout/rows.ts';
import { SCOPE_LEVELS } from '../layout/scope_runs.ts';
import { fitAll, type TimeView } from '../layout/time_view.ts';

/** All traces of the logs; null until the first reply. */
export const traces = signal<TraceRow[] | null>(null);
/** Why they could not be fetched. */
export const tracesFailure = signal<string | null>(null);

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

/** The traces of the chosen run, and their names in the address. */
export const ofTheRun = computed<TraceRow[]>(() =>
  chosenRun.value === null ? [] : (tracedRuns.value.get(chosenRun.value) ?? []),
);
export const keyOfTrace = computed(() => traceKeys(ofTheRun.value));

/** A trace in words: "step 3", or the title of a trace file. */
export function traceName(id: number): string {
  const row = traces.value?.find((one) => one.id === id);
  if (row && row.step === null) return row.title;
  return `step ${keyOfTrace.value.get(id) ?? row?.step ?? id}`;
}

/** The trace file of the address, or the step nearest to the cursor; without a cursor the last one. */
export const chosen = computed<TraceRow | null>(() => {
  const files = ofTheRun.value.filter((row) => row.step === null);
  const rows = ofTheRun.value.filter((row) => row.step !== null);
  const file = files.find((row) => row.tag === traceTag.value);
  if (file) return file;
  if (!rows.length) return files.at(-1) ?? null;
  const cursor = stepCursor.value;
  if (cursor === null) return rows.at(-1) ?? null;
  let best: TraceRow | null = null;
  for (const row of rows) {
    const away = Math.abs(row.step! - cursor);
    const before = best ? Math.abs(best.step! - cursor) : Number.POSITIVE_INFINITY;
    if (away < before || (away === before && row.tag === traceTag.value)) best = row;
  }
  return best;
});

export const MOST_COMPARED = 5;

export const compared = computed<TraceRow[]>(() => {
  const requested = new Set(comparedSteps.value);
  const keys = keyOfTrace.value;
  return ofTheRun.value
    .filter((row) => requested.has(keys.get(row.id)!) && row.id !== chosen.value?.id)
    .slice(0, MOST_COMPARED);
});

const models = new Map<number, TraceModel>();
const KEPT_MODELS = 8;
/** The size of the timeline in CSS pixels. */
export const timelineWidth = signal(1200);
export const timelineHeight = signal(700);
/** How far the timeline is scrolled. */
export const timelineScroll = signal(0);
/** A step with few tracks stretches them to fill the room, up to this factor. */
const MOST_STRETCH = 1.5;
const OF_THE_ROOM = 0.7;

function modelOf(id: number): TraceModel {
  let model = models.get(id);
  if (!model) {
    model = new TraceModel(id);
    models.set(id, model);
    void model.open(timelineWidth.peek());
    for (const old of [...models.keys()]) {
      if (models.size <= KEPT_MODELS) break;
      if (!shownIds.has(old) && old !== id) models.delete(old);
    }
  }
  return model;
}
let shownIds = new Set<number>();

/** Whether it is a trace file of a profiler: it has neither a critical path nor memory nor placement. */
export const isProfile = computed(() => chosen.value?.step === null);

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
    const header = model.header.value;
    if (!header) return [];
    void model.memory.titles.value;
    const titles = new Map(header.lanes.map((lane) => [lane.task, lane.task_title]));
    const tasks = groupsOf(header.lanes).length > 1 && titles.size > 1;
    const memory = model.memory.curves.map((curve) => {
      const what = curve.source === 'outputs' ? 'memory (estimate)' : `memory ${curve.name}`;
      return tasks ? `${titles.get(curve.task) ?? curve.task} · ${what}` : what;
    });
    const title = many ? traceName(model.id) : '';
    return [{ trace: model.id, title, duration: header.duration_ns, lanes: header.lanes, memory }];
  });
});
const FEW_TRACKS = 3;
export const showScopes = computed(() => {
  if (scopesChoice.value !== 'auto') return scopesChoice.value === 'on';
  return sections.value.reduce((n, section) => n + section.lanes.length, 0) <= FEW_TRACKS;
});
export const rows = computed<Row[]>(() => {
  const choice = {
    closed: new Set(closedGroups.value),
    pinned: new Set(pinnedTracks.value),
    hidden: new Set(hiddenTracks.value),
    filter: trackFilter.value,
  };
  const levels = showScopes.value ? SCOPE_LEVELS : 0;
  const laid = layOutRows(sections.value, choice, showMemory.value, 1, levels);
  const stretch = Math.min(MOST_STRETCH, (OF_THE_ROOM * timelineHeight.value) / Math.max(1, heightOf(laid)));
  return stretch > 1 ? layOutRows(sections.value, choice, showMemory.value, stretch, levels) : laid;
});
/** How many tracks of the chosen step the reader has hidden, and how many are shown. */
export const leftOut = computed(() => {
  const lanes = sections.value[0]?.lanes ?? [];
  const hidden = new Set(hiddenTracks.value);
  const byHand = lanes.filter((lane) => hidden.has(trackKey(lane))).length;
  const there = new Set(rows.value.flatMap((row) => (row.section === 0 ? row.lanes : [])));
  return { byHand, all: lanes.length, seen: there.size };
});

export interface Area {
  trace: number;
  t0: number;
  t1: number;
  /** null means all tracks. */
  lanes: number[] | null;
}

export type SelectedSlice = SliceRef & { trace: number };

export const selectedSlice = signal<SelectedSlice | null>(null);
/** The slices of the selected node in the chosen step; null without a node. */
export const markedOf = signal<{
  node: string;
  trace: number;
  places: number;
  total: number;
  failure: string | null;
} | null>(null);
export const selectedArea = signal<Area | null>(null);
export function chooseTrace(row: TraceRow): void {
  batch(() => {
    const sameRun = row.run === chosenRun.peek();
    traceRun.value = runById.peek().get(row.run)?.name ?? '';
    traceTag.value = row.tag;
    if (row.step !== null) stepCursor.value = row.step;
    selectedSlice.value = null;
    selectedArea.value = null;
    sliceInUrl.value = '';
    areaInUrl.value = '';
    mark.value = null;
    if (!sameRun) {
      comparedSteps.value = [];
      windowOfTime.value = null;
    }
  });
}

/** Chooses the next or the previous trace of the run. */
export function chooseNeighbour(by: 1 | -1): void {
  const all = ofTheRun.peek();
  const at = all.findIndex((row) => row.id === chosen.peek()?.id);
  const next = all[at + by];
  if (next) chooseTrace(next);
}

/** Adds a step below the chosen one, or removes it. */
export function toggleCompared(row: TraceRow): void {
  const key = keyOfTrace.peek().get(row.id)!;
  const now = comparedSteps.peek();
  comparedSteps.value = now.includes(key) ? now.filter((one) => one !== key) : [...now, key];
}

function toggled(of: typeof closedGroups, key: string): void {
  const now = of.peek();
  of.value = now.includes(key) ? now.filter((k) => k !== key) : [...now, key];
}

export function togglePinned(key: string): void {
  toggled(pinnedTracks, key);
}

export function toggleHidden(key: string): void {
  toggled(hiddenTracks, key);
}

export function toggleGroup(key: string): void {
  toggled(closedGroups, key);
}

/** The graph node of a slice; for a received tensor the node that made it. */
export function nodeOf(slice: SliceRef): string {
  if (slice.graph_node) return slice.graph_node;
  return slice.op === 'RecvTensor' ? slice.node.replace(/^edge_\d+_/, '') : slice.node;
}

// The list of traces is fetched again when the catalogue has new ones.
const traceCount = computed(() =>
  series.value.reduce((n, one) => n + (tagById.value.get(one.tag)?.kind === 'run_metadata' ? one.n : 0), 0),
);
let requests = 0;

/** Fetches the list of traces; the reply to the last request counts. */
export async function readTraces(): Promise<void> {
  const turn = ++requests;
  try {
    const rows = await fetchTraces();
    if (turn !== requests) return;
    traces.value = rows;
    tracesFailure.value = null;
  } catch (error) {
    if (turn === requests) tracesFailure.value = messageOf(error);
  }
}

/** Keeps the state up to date while the page is shown. Returns: a function that ends it. */
export function followTraces(): () => void {
  const ends = [
    effect(() => {
      const run = chosenRun.value;
      if (colouring.value === 'family' && run !== null) void fetchFamilies(run);
    }),
    effect(() => {
      void [traceCount.value, latest.value?.traces];
      void readTraces();
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}
