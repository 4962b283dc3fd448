/** The selection on the Trace page: slices, areas, and the node that all pages share. */
import { batch, effect } from '@preact/signals';
import { messageOf } from '../../api/error_message.ts';
import { showGraphOfRun } from '../../graph/session/graph_list.ts';
import { selectedNode } from '../../state/selection.ts';
import { sliceRequests } from '../../state/trace_link.ts';
import { areaInUrl, mark, sidebarTab, sliceInUrl, windowOfTime } from '../address/address_fields.ts';
import { parseArea, parseSlice, textOfArea, textOfSlice } from '../address/selection_address.ts';
import { belongs, nameSpans } from '../data/node_names.ts';
import { fetchPlaces, fetchSlice, type Place, type SliceRef } from '../data/trace_api.ts';
import type { TraceModel } from '../data/trace_model.ts';
import { namesOf } from '../data/trace_names.ts';
import { reveal } from '../layout/time_view.ts';
import {
  type Area,
  chosen,
  chosenRun,
  duration,
  markedOf,
  nodeOf,
  selectedArea,
  selectedSlice,
  shown,
  timeView,
} from './trace_state.ts';

/** The node for which the Slice tab was opened last. */
let shownNode = '';

export function selectSlice(trace: number, slice: SliceRef | null): void {
  batch(() => {
    selectedSlice.value = slice && { ...slice, trace };
    if (slice) {
      shownNode = nodeOf(slice);
      selectedNode.value = shownNode;
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

/** Clears all that is selected. */
export function selectNothing(): void {
  batch(() => {
    selectArea(null);
    selectSlice(0, null);
    mark.value = null;
  });
}

/** Selects a node on all pages and marks its slices. */
export function selectNode(name: string): void {
  batch(() => {
    shownNode = name;
    selectedSlice.value = null;
    selectedNode.value = name;
    sidebarTab.value = 'slice';
  });
}

/** Shows a node in the graph of the traced run; the tab that is open stays for the way back. */
export async function showInGraph(name: string): Promise<void> {
  const run = chosenRun.peek();
  if (run === null) return;
  shownNode = name;
  await showGraphOfRun(run, name);
}

let turn = 0;

/** Selects a slice by its index and brings it into view; a later call supersedes this one. */
export async function goToSlice(trace: number, slice: number): Promise<void> {
  const mine = ++turn;
  const details = await fetchSlice(trace, slice).catch(() => null);
  if (!details || mine !== turn) return; // the header of the page reports a lost server
  batch(() => {
    selectSlice(trace, details);
    const { start, dur } = details;
    windowOfTime.value = reveal(timeView.peek(), start, start + dur, duration.peek());
  });
}

/** Keeps marked slices and the address up to date while the page is shown. Returns: a function that ends it. */
export function followSelection(): () => void {
  let serial = 0;
  const ends = [
    effect(() => {
      const node = selectedNode.value;
      const mine = ++serial;
      for (const model of shown.value) {
        if (!model.header.value) continue;
        void markOf(model, node, () => mine === serial);
      }
    }),
    effect(readAddress),
    effect(() => {
      if (sliceRequests.value === seenRequests) return;
      seenRequests = sliceRequests.value;
      sidebarTab.value = 'slice';
    }),
    effect(() => {
      const ids = shown.value.map((model) => model.id);
      if (!ids.length || !chosen.value) return;
      const slice = selectedSlice.value;
      const area = selectedArea.value;
      const [sliceText, areaText] = [slice && textOfSlice(ids, slice), area && textOfArea(ids, area)];
      if (slice || !pendingSlice) sliceInUrl.value = sliceText ?? '';
      if (area || !pendingArea) areaInUrl.value = areaText ?? '';
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

let seenRequests = 0;
let pendingSlice = sliceInUrl.peek() !== '';
let pendingArea = areaInUrl.peek() !== '';

/** Selects what the address names, once its trace is fetched. */
function readAddress(): void {
  const models = shown.value;
  const ids = models.map((model) => model.id);
  const slice = parseSlice(sliceInUrl.value, ids);
  const area = parseArea(areaInUrl.value, ids);
  if (!models.length || !models.every((model) => model.header.value)) return;
  const now = selectedSlice.peek();
  if (slice && !(now?.trace === slice.trace && now.slice === slice.slice)) {
    const mine = ++turn;
    void fetchSlice(slice.trace, slice.slice)
      .then((details) => {
        if (mine !== turn) return;
        const node = selectedNode.peek();
        if (node && !belongs(nodeOf(details), node)) return; // another page selected something since
        selectedSlice.value = { ...details, trace: slice.trace };
        if (node) return;
        shownNode = nodeOf(details);
        selectedNode.value = shownNode;
      })
      .catch(() => undefined) // the log changed since: there is no such slice
      .finally(() => {
        pendingSlice = false;
        const [main] = shown.peek();
        if (main && !selectedSlice.peek()) void markOf(main, selectedNode.peek(), () => mine === turn);
      });
  } else pendingSlice = false;
  if (area && areaInUrl.peek() !== (selectedArea.peek() ? textOfArea(ids, selectedArea.peek()!) : '')) {
    selectedArea.value = area;
  }
  pendingArea = false;
}

/** Marks the slices of a node, scope or series; selects the first if another page selected the node. */
async function markOf(model: TraceModel, node: string, still: () => boolean): Promise<void> {
  let places: Place[] = [];
  let total = 0;
  let failure: string | null = null;
  if (node) {
    try {
      const replies = await slicesOf(model.id, node);
      places = replies.flatMap((reply) => reply.places).sort((a, b) => a.start - b.start);
      total = replies.reduce((n, reply) => n + reply.total, 0);
    } catch (error) {
      failure = messageOf(error);
    }
    if (!still()) return;
  }
  model.marked = places;
  model.touch();
  if (model !== shown.peek()[0]) return;
  markedOf.value = node ? { node, trace: model.id, places: places.length, total, failure } : null;
  if (!node || pendingSlice) return;
  const now = selectedSlice.peek();
  const there =
    now !== null &&
    shown.peek().some((one) => one.id === now.trace) &&
    (nodeOf(now) === node || belongs(nodeOf(now), node));
  // Another page selected the node: the Slice tab shows it.
  batch(() => {
    // The first window is that of the address; later ones move to the selection.
    const moves = shownNode !== '';
    // The table of the placement marks the node itself.
    const placed = shownNode === '' && sidebarTab.peek() === 'placement';
    if (shownNode !== node && !placed) sidebarTab.value = 'slice';
    shownNode = node;
    if (there) return;
    selectedSlice.value = null;
    const first = places[0];
    if (!first) return;
    void tellOf(model.id, first.slice, node);
    if (!moves) return;
    const { start, dur } = first;
    windowOfTime.value = reveal(timeView.peek(), start, start + dur, duration.peek());
  });
}

/** The most names in one request. */
const NAMES_AT_ONCE = 1000;

/** The slices of a node by its name in the trace, else by its name in the run's graph. */
async function slicesOf(trace: number, node: string) {
  const own = await Promise.all(nameSpans(node).map((prefix) => fetchPlaces(trace, { prefix })));
  if (own.some((reply) => reply.total > 0)) return own;
  const { graphNodes } = await namesOf(trace);
  const names = [...graphNodes].filter(([, graphNode]) => belongs(graphNode, node)).map(([at]) => at);
  const calls: Promise<{ places: Place[]; total: number }>[] = [];
  for (let i = 0; i < names.length; i += NAMES_AT_ONCE) {
    calls.push(fetchPlaces(trace, { names: names.slice(i, i + NAMES_AT_ONCE) }));
  }
  return Promise.all(calls);
}

/** Selects a slice without changing the selected node, which another page has set. */
async function tellOf(trace: number, slice: number, node: string): Promise<void> {
  const mine = ++turn;
  const details = await fetchSlice(trace, slice).catch(() => null);
  if (details && mine === turn && selectedNode.peek() === node) selectedSlice.value = { ...details, trace };
}
