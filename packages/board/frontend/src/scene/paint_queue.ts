/** Paints a few milliseconds in each frame, so that the page stays responsive. */

const BUDGET_MS = 12;
const waiting = new Map<object, () => void>();
let scheduled = false;

/** Schedules a painting; a newer call with the same key replaces an older one. */
export function paintSoon(key: object, paint: () => void): void {
  waiting.set(key, paint);
  if (!scheduled) {
    scheduled = true;
    requestAnimationFrame(work);
  }
}

export function forgetPaint(key: object): void {
  waiting.delete(key);
}

export const isPainting = (): boolean => waiting.size > 0;

function work(): void {
  const began = performance.now();
  for (const [key, paint] of waiting) {
    waiting.delete(key);
    paint();
    if (performance.now() - began > BUDGET_MS) break;
  }
  scheduled = waiting.size > 0;
  if (scheduled) requestAnimationFrame(work);
}
