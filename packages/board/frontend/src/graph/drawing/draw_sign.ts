/** The sign that opens and closes groups and series. */
import type { Brush } from './brush.ts';

/** The scale from which the signs are drawn, and can be hit. */
export const SIGNS = 0.55;

/** What a label leaves free at the right of a closed box: the sign, and a gap before it. */
export const SIGN_ROOM = 24;

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
