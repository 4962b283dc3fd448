/** The sign that opens and closes groups and series. */
import type { Brush } from './brush.ts';

/** The scale from which the signs are drawn, and can be hit. */
export const SIGNS = 0.55;

/** From here on closed boxes have it in any case. */
const SIGNS_IN_ALL = 0.8;

/** A label of weight 500 is wider than it was measured, by about this factor. */
export const BOLDER = 1.05;

/** What a label leaves free at the right of a closed box: the sign, and a gap before it. */
const SIGN_ROOM = 24;

/** The room for the label of a closed group beside its sign. */
export const labelRoom = (w: number): number => (w - 10 - SIGN_ROOM) / BOLDER;

/** Whether a closed group has the sign: where it is small, its name comes first. */
export const showsSign = (labelWidth: number, w: number, k: number): boolean =>
  k >= SIGNS && (k >= SIGNS_IN_ALL || (labelWidth * Math.max(12, 7 / k)) / 12 <= labelRoom(w));

export function drawSign(brush: Brush, x: number, y: number, open: boolean): void {
  const { s } = brush;
  s.strokeStyle = brush.job.inks.soft;
  s.lineWidth = 1.1;
  s.beginPath();
  s.roundRect(x - 6, y - 6, 12, 12, 4);
  s.moveTo(x - 3, y);
  s.lineTo(x + 3, y);
  if (!open) {
    s.moveTo(x, y - 3);
    s.lineTo(x, y + 3);
  }
  s.stroke();
}
