/** The keys of the Trace page. */
import { page } from '../../address/url_state.ts';
import { mark, showCritical, windowOfTime } from '../address/address_fields.ts';
import { itemsBetween } from '../data/trace_items.ts';
import { fitRange, panBy, spanOf, zoomAbout } from '../layout/time_view.ts';
import { findRequests, goToFound } from '../state/trace_search.ts';
import { goToSlice, selectNothing } from '../state/trace_selection.ts';
import {
  chooseNeighbour,
  duration,
  rows,
  selectedArea,
  selectedSlice,
  shown,
  timeView,
} from '../state/trace_state.ts';
import { extendArea, extendAreaByTrack } from './area_keys.ts';
import { modelOfSection, pointer } from './hit_test.ts';

export const KEYS: [string, string][] = [
  ['W S', 'zoom'],
  ['A D', 'pan'],
  ['F', 'fit'],
  ['M', 'mark'],
  ['/', 'find, Enter next'],
  ['← → ↑ ↓', 'slices'],
  ['Shift+arrows', 'area'],
  ['C', 'critical path'],
  ['[ ]', 'steps'],
  ['Esc', 'clear'],
];

/** Handles a key. Returns: whether it is one of the page's keys. */
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
      findRequests.value = findRequests.peek() + 1;
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
      selectNothing();
      return true;
  }
  if (!onCanvas) return false;
  const arrow = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key] as 1 | -1 | undefined;
  if (arrow === undefined) return false;
  const along = event.key === 'ArrowLeft' || event.key === 'ArrowRight';
  if (event.shiftKey) (along ? extendArea : extendAreaByTrack)(arrow);
  else void (along ? beside : onTrack)(arrow);
  return true;
}

/** Fits the selection; fits the whole step if the selection is fitted already or empty. */
export function fit(): void {
  const slice = selectedSlice.peek();
  const area = selectedArea.peek();
  const range = area ?? (slice && { t0: slice.start, t1: slice.start + slice.dur });
  const requested = range && fitRange(range.t0, range.t1, duration.peek(), area ? 0.9 : 0.5);
  const view = timeView.peek();
  const there =
    requested && Math.abs(requested.t0 - view.t0) + Math.abs(requested.t1 - view.t1) < spanOf(view) * 1e-3;
  windowOfTime.value = requested && !there ? requested : null;
}

/** Marks the selected area or slice, else the time under the pointer; removes a mark that is there already. */
export function toggleMark(): void {
  const slice = selectedSlice.peek();
  const area = selectedArea.peek();
  const now = mark.peek();
  const selected = area ?? (slice && { t0: slice.start, t1: slice.start + slice.dur });
  if (!selected) {
    const view = timeView.peek();
    const time = Math.round(pointer.time ?? (view.t0 + view.t1) / 2);
    const near = now && Math.abs(now.t0 - time) + Math.abs(now.t1 - time) < spanOf(view) / 200;
    mark.value = near ? null : { t0: time, t1: time };
    return;
  }
  const { t0, t1 } = selected;
  mark.value = now?.t0 === t0 && now.t1 === t1 ? null : { t0, t1 };
}

async function beside(by: 1 | -1): Promise<void> {
  const now = selectedSlice.peek();
  if (!now) return onTrack(1);
  const model = shown.peek().find((one) => one.id === now.trace);
  const header = model?.header.peek();
  const lane = header?.lanes[now.lane];
  if (!model || !header || !lane) return;
  // Slices are numbered by track and time.
  const first = header.lanes.slice(0, now.lane).reduce((n, l) => n + l.slices, 0);
  const next = now.slice + by;
  if (next >= first && next < first + lane.slices) await goToSlice(model.id, next);
}

async function onTrack(by: 1 | -1): Promise<void> {
  const now = selectedSlice.peek();
  const all = rows.peek().filter((row) => row.kind === 'track');
  const view = timeView.peek();
  const at = now
    ? all.findIndex((row) => modelOfSection(row.section)?.id === now.trace && row.lanes[0] === now.lane)
    : by > 0
      ? -1
      : all.length;
  const time = now ? now.start + now.dur / 2 : (view.t0 + view.t1) / 2;
  for (let k = at + by; k >= 0 && k < all.length; k += by) {
    const row = all[k]!;
    const model = modelOfSection(row.section);
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
