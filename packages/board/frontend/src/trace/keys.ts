/** The keys of the Trace page. */
import { page } from '../state/url_state.ts';
import { fitRange, panBy, reveal, spanOf, zoomAbout } from './time_view.ts';
import { fetchSlice } from './trace_api.ts';
import { itemsBetween } from './trace_items.ts';
import { askToFind, goToFound } from './trace_search.ts';
import {
  chooseNeighbour,
  duration,
  mark,
  rows,
  selectArea,
  selectedArea,
  selectedSlice,
  selectSlice,
  showCritical,
  shown,
  timeView,
  windowOfTime,
} from './trace_state.ts';

/** Where the pointer is in time, for zooming about it. */
export const pointer: { time: number | null } = { time: null };

export const KEYS: [string, string][] = [
  ['W S', 'zoom'],
  ['A D', 'pan'],
  ['F', 'fit'],
  ['M', 'mark'],
  ['/', 'find, Enter next'],
  ['← → ↑ ↓', 'slices'],
  ['C', 'critical path'],
  ['[ ]', 'steps'],
  ['Esc', 'clear'],
];

/** Answers a key. Returns: whether it was one of the page's. */
export function onKey(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || page.peek() !== 'trace') return false;
  const target = event.target as HTMLElement;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return false;
  const onCanvas = target.tagName === 'CANVAS' || target === document.body;
  const view = timeView.peek();
  const whole = duration.peek();
  const zoom = (factor: number) => {
    const at = pointer.time ?? (view.t0 + view.t1) / 2;
    windowOfTime.value = zoomAbout(view, at, factor, whole);
  };
  const pan = (share: number) => {
    windowOfTime.value = panBy(view, share * spanOf(view), whole);
  };
  switch (event.key.length === 1 ? event.key.toLowerCase() : event.key) {
    case 'w':
      zoom(0.75);
      return true;
    case 's':
      zoom(1 / 0.75);
      return true;
    case 'a':
      pan(-0.15);
      return true;
    case 'd':
      pan(0.15);
      return true;
    case 'f':
      fit();
      return true;
    case 'm':
      toggleMark();
      return true;
    case 'c':
      showCritical.value = !showCritical.peek();
      return true;
    case '/':
      askToFind.value = askToFind.peek() + 1;
      return true;
    case 'n':
      void goToFound(event.shiftKey ? -1 : 1);
      return true;
    case '[':
      chooseNeighbour(-1);
      return true;
    case ']':
      chooseNeighbour(1);
      return true;
    case 'Escape':
      selectArea(null);
      selectSlice(0, null);
      mark.value = null;
      return true;
  }
  if (!onCanvas) return false;
  switch (event.key) {
    case 'ArrowLeft':
      void beside(-1);
      return true;
    case 'ArrowRight':
      void beside(1);
      return true;
    case 'ArrowUp':
      void onLane(-1);
      return true;
    case 'ArrowDown':
      void onLane(1);
      return true;
  }
  return false;
}

/** Shows the selection; all of the step if that is shown already or nothing is selected. */
export function fit(): void {
  const slice = selectedSlice.peek();
  const area = selectedArea.peek();
  const range = area ?? (slice && { t0: slice.start, t1: slice.start + slice.dur });
  const wanted = range && fitRange(range.t0, range.t1, duration.peek(), area ? 0.9 : 0.5);
  const view = timeView.peek();
  const there = wanted && Math.abs(wanted.t0 - view.t0) + Math.abs(wanted.t1 - view.t1) < spanOf(view) * 1e-3;
  windowOfTime.value = wanted && !there ? wanted : null;
}

function toggleMark(): void {
  const slice = selectedSlice.peek();
  const area = selectedArea.peek();
  const wanted = area
    ? { t0: area.t0, t1: area.t1 }
    : slice && { t0: slice.start, t1: slice.start + slice.dur };
  const now = mark.peek();
  mark.value = wanted && !(now?.t0 === wanted.t0 && now.t1 === wanted.t1) ? wanted : null;
}

/** Selects a slice by its number, and shows it. */
export async function goToSlice(trace: number, slice: number): Promise<void> {
  const details = await fetchSlice(trace, slice).catch(() => null);
  if (!details) return; // the server is gone; the header says so
  selectSlice(trace, details);
  const { start, dur } = details;
  windowOfTime.value = reveal(timeView.peek(), start, start + dur, duration.peek());
}

async function beside(by: 1 | -1): Promise<void> {
  const now = selectedSlice.peek();
  if (!now) return onLane(1);
  const model = shown.peek().find((one) => one.id === now.trace);
  const header = model?.header.peek();
  const lane = header?.lanes[now.lane];
  if (!model || !header || !lane) return;
  // Slices are numbered by lane and time.
  const first = header.lanes.slice(0, now.lane).reduce((n, l) => n + l.slices, 0);
  const next = now.slice + by;
  if (next >= first && next < first + lane.slices) await goToSlice(model.id, next);
}

async function onLane(by: 1 | -1): Promise<void> {
  const now = selectedSlice.peek();
  const all = rows.peek().filter((row) => row.kind === 'lane');
  const models = shown.peek();
  const view = timeView.peek();
  const at = now
    ? all.findIndex((row) => models[row.section]?.id === now.trace && row.lanes[0] === now.lane)
    : by > 0
      ? -1
      : all.length;
  const time = now ? now.start + now.dur / 2 : (view.t0 + view.t1) / 2;
  for (let k = at + by; k >= 0 && k < all.length; k += by) {
    const row = all[k]!;
    const model = models[row.section];
    const items = model?.items;
    if (!model || !items) continue;
    const [from, to] = itemsBetween(items, row.lanes[0]!, -Number.MAX_VALUE, Number.MAX_VALUE);
    if (from === to) continue;
    let best = from;
    let nearest = Number.POSITIVE_INFINITY;
    for (let i = from; i < to; i++) {
      const away = Math.abs(items.columns.start[i]! + items.columns.dur[i]! / 2 - time);
      if (away < nearest) {
        nearest = away;
        best = i;
      }
    }
    await goToSlice(model.id, items.columns.slice[best]!);
    return;
  }
}
