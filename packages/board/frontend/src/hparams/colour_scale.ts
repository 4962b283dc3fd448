/** The colours of lines and points by a metric: from cool to warm, apart for the colour-blind. */
import { mix } from '../picture/colour_mix.ts';

const LIGHT = ['#3b4cc0', '#4f86c6', '#5aa7a0', '#c98a1b', '#c0392b'];
const DARK = ['#8ba0ff', '#78b7e8', '#7fd0b8', '#f0b850', '#ff7f6e'];

/** The colour at a place between 0 and 1; null is grey, for rows without a value. */
export function scaleColour(place: number | null, dark: boolean, none: string): string {
  if (place === null) return none;
  const stops = dark ? DARK : LIGHT;
  const at = Math.max(0, Math.min(1, place)) * (stops.length - 1);
  const from = Math.min(stops.length - 2, Math.floor(at));
  return mix(stops[from]!, stops[from + 1]!, at - from);
}
