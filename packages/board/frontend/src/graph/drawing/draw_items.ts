/** Draws the boxes of closed items. */

import { SHEET_OFFSET } from '../scene/box_sizes.ts';
import { CONST, OP, SERIES } from '../scene/scene.ts';
import type { Brush } from './brush.ts';
import { drawWords } from './draw_words.ts';
import type { ItemStyle } from './paint.ts';

/** A closed group, a series, or an op. */
export function drawItem(brush: Brush, i: number): void {
  const { scene } = brush.job.indexed;
  const { s, k } = brush;
  const item = scene.item[i]!;
  const kind = scene.kind[i]!;
  const [x, y, w, h] = brush.box(i);
  const style = brush.job.paint.style(item);
  s.globalAlpha = brush.alphaOf(i);
  if (h * k < 8) {
    s.fillStyle = h * k < 4 && kind !== OP && kind !== CONST ? style.border : style.fill;
    s.fillRect(x, y, w, h);
    if (h * k >= 4) {
      s.strokeStyle = style.border;
      s.lineWidth = brush.hair;
      s.beginPath();
      s.roundRect(x, y, w, h, 0);
      s.stroke();
    }
    s.globalAlpha = 1;
    return;
  }
  const round = kind === OP || kind === CONST ? h / 2 : 7;
  s.lineWidth = brush.hair;
  s.strokeStyle = style.border;
  if (kind === SERIES) {
    s.fillStyle = style.fill;
    const { chain } = brush.job.model.header.series[item - brush.job.model.total]!;
    for (const sheet of [2, 1]) {
      // Sheets of a chain lie below each other, in the direction of the data; parallel ones beside each other.
      const [along, across] = [sheet * SHEET_OFFSET, sheet * (SHEET_OFFSET - 1)];
      s.beginPath();
      if (chain) s.roundRect(x + across, y + along, w - 2 * across, h - 2 * SHEET_OFFSET, round);
      else s.roundRect(x + along, y + across, w - 2 * SHEET_OFFSET, h - 2 * across, round);
      s.fill();
      s.stroke();
    }
    const front: [number, number] = chain ? [w, h - 2 * SHEET_OFFSET] : [w - 2 * SHEET_OFFSET, h];
    box(brush, x, y, ...front, round, style);
    drawWords(brush, item, kind, x, y, ...front);
  } else {
    box(brush, x, y, w, h, round, style);
    drawWords(brush, item, kind, x, y, w, h);
  }
  s.globalAlpha = 1;
}

function box(
  brush: Brush,
  x: number,
  y: number,
  w: number,
  h: number,
  round: number,
  style: ItemStyle,
): void {
  const { s } = brush;
  s.fillStyle = style.fill;
  s.strokeStyle = style.border;
  s.beginPath();
  if (style.notch) {
    const cut = Math.min(13, h / 2);
    s.moveTo(x + 5, y);
    s.lineTo(x + w - cut, y);
    s.lineTo(x + w, y + cut);
    s.lineTo(x + w, y + h - 5);
    s.lineTo(x + w - 5, y + h);
    s.lineTo(x + 5, y + h);
    s.lineTo(x, y + h - 5);
    s.lineTo(x, y + 5);
    s.closePath();
  } else s.roundRect(x, y, w, h, round);
  s.fill();
  s.stroke();
  if (style.notch) {
    const cut = Math.min(13, h / 2);
    s.fillStyle = style.border;
    s.beginPath();
    s.moveTo(x + w - cut, y);
    s.lineTo(x + w, y + cut);
    s.lineTo(x + w - cut, y + cut);
    s.closePath();
    s.fill();
  }
  if (style.bar) {
    let at = x + 6;
    const room = w - 12;
    for (const [fill, share] of style.bar) {
      s.fillStyle = fill;
      s.fillRect(at, y + h - 5.5, room * share, 3);
      at += room * share;
    }
  }
}
