/** The cross-hair that all charts share, and what it points at. */
import { signal } from '@preact/signals';

export interface Crosshair {
  x: number;
  /** What x is: charts that show another kind of x do not draw it. */
  axis: string;
  /** The chart under the pointer, or with the focus. */
  chart: string;
}

export const crosshair = signal<Crosshair | null>(null);

/** A chart's cross-hair that stays until it is released. */
export const pinnedCrosshair = signal<Crosshair | null>(null);
