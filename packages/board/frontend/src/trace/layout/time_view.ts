/** The visible window of time, and how it moves. Times are nanoseconds from the start of the trace. */

export interface TimeView {
  t0: number;
  t1: number;
}

/** The shortest window: ten nanoseconds, the resolution of the clocks that write traces. */
export const LEAST_SPAN = 10;
/** How far a window may reach beyond the step, as a share of it. */
const BEYOND = 0.05;

export function spanOf(view: TimeView): number {
  return view.t1 - view.t0;
}

/** The whole step, with a small margin. */
export function fitAll(duration: number): TimeView {
  const air = Math.max(duration, LEAST_SPAN) * 0.01;
  return { t0: -air, t1: Math.max(duration, LEAST_SPAN) + air };
}

/** Zooms by a factor (below 1: closer) and keeps the time under the cursor where it is. */
export function zoomAbout(view: TimeView, at: number, factor: number, duration: number): TimeView {
  const most = Math.max(duration, LEAST_SPAN) * (1 + 2 * BEYOND);
  const span = Math.min(most, Math.max(LEAST_SPAN, spanOf(view) * factor));
  const real = span / spanOf(view);
  return clamped({ t0: at - (at - view.t0) * real, t1: at + (view.t1 - at) * real }, duration);
}

export function panBy(view: TimeView, by: number, duration: number): TimeView {
  return clamped({ t0: view.t0 + by, t1: view.t1 + by }, duration);
}

/** A range in the middle of the window; `share` of the window is the range. */
export function fitRange(from: number, to: number, duration: number, share = 0.8): TimeView {
  const span = Math.max(LEAST_SPAN, (to - from) / share);
  const middle = (from + to) / 2;
  return clamped({ t0: middle - span / 2, t1: middle + span / 2 }, duration);
}

/** Moves the window as little as needed to show a range; zooms out only if it does not fit. */
export function reveal(view: TimeView, from: number, to: number, duration: number): TimeView {
  const span = spanOf(view);
  if (to - from > span * 0.9) return fitRange(from, to, duration);
  if (from < view.t0) return panBy(view, from - view.t0 - span * 0.3, duration);
  if (to > view.t1) return panBy(view, to - view.t1 + span * 0.3, duration);
  return view;
}

/** Limits a window to the step and a margin, without changing its span. */
export function clamped(view: TimeView, duration: number): TimeView {
  const whole = Math.max(duration, LEAST_SPAN);
  const least = -whole * BEYOND;
  const most = whole * (1 + BEYOND);
  const span = Math.min(spanOf(view), most - least);
  if (view.t0 < least) return { t0: least, t1: least + span };
  if (view.t1 > most) return { t0: most - span, t1: most };
  return { t0: view.t0, t1: view.t0 + span };
}

export function timeAt(view: TimeView, width: number, x: number): number {
  return view.t0 + (x / width) * spanOf(view);
}

/** Parses `t0~t1` of the address; undefined if it is malformed. */
export function parseView(text: string): TimeView | null | undefined {
  if (text === '') return null;
  const [t0, t1, ...rest] = text.split('~').map(Number);
  if (rest.length || !Number.isFinite(t0) || !Number.isFinite(t1) || !(t1! > t0!)) return undefined;
  return { t0: t0!, t1: t1! };
}

export function formatView(view: TimeView | null): string {
  return view ? `${round(view.t0)}~${round(view.t1)}` : '';
}

function round(time: number): number {
  return Math.round(time * 10) / 10;
}
