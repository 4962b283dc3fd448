/** Paints in frames, a few milliseconds in each, so that no frame is long; the page stays alive. */

const BUDGET_MS = 12;
const waiting = new Map<object, () => void>();
let scheduled = false;

/** Paints soon; a newer call for the same key takes the place of the older. */
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
