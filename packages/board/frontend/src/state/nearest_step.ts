/** The place whose step is nearest to a step; of two alike near the later one. -1: there is none. */
export function nearestStep(steps: ArrayLike<number>, step: number): number {
  // All are looked at: after a restart steps may be out of order.
  let best = -1;
  let distance = Infinity;
  for (let i = 0; i < steps.length; i++) {
    const away = Math.abs(steps[i]! - step);
    if (away <= distance) {
      distance = away;
      best = i;
    }
  }
  return best;
}
