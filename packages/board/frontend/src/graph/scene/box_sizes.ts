/** Sizes of closed items in units of the scene (pixels at scale 1). */

export const LABEL_FONT_PX = 12;
export const OP_HEIGHT = 26;
export const CONST_HEIGHT = 20;
export const GROUP_HEIGHT = 40;
export const SHEET_OFFSET = 4; // the offset between the sheets of a series
export const TITLE_HEIGHT = 30;
export const PAD = 18;
export const STUB_FONT_PX = 9.5;
const MOST_LABEL = 190;

/** Width of a text, in the label's font; tests and workers without a canvas guess. */
export type Measure = (text: string) => number;

const NARROW = new Set("iljtfrI.,:;'|!()[]/ ");
const WIDE = new Set('mwMW@%_');

export function guessWidth(text: string): number {
  let sum = 0;
  for (const c of text) sum += NARROW.has(c) ? 4 : WIDE.has(c) ? 10 : c >= 'A' && c <= 'Z' ? 8.2 : 7.1;
  return sum;
}

export function labelWidth(text: string, measure: Measure): number {
  return Math.min(MOST_LABEL, measure(text.length > 60 ? text.slice(0, 60) : text));
}

export function stubReserve(label: string, more: boolean, measure: Measure): number {
  const width = Math.min(64, (measure(label.slice(0, 20)) * STUB_FONT_PX) / LABEL_FONT_PX);
  return width + 16 + (more ? 14 : 0);
}
