/** Draws the labels of closed items, at a size that depends on the zoom. */

import { verticesOf } from '../model/view_state.ts';
import { CONST, GROUP, SERIES } from '../scene/scene.ts';
import { type Brush, READABLE } from './brush.ts';
import { BOLDER, drawSign, labelRoom, showsSign } from './draw_sign.ts';
import { fitText } from './fit_text.ts';
import type { DrawJob } from './surface.ts';

export function drawWords(
  brush: Brush,
  item: number,
  kind: number,
  x: number,
  y: number,
  w: number,
  h: number,
): void {
  const { s, k } = brush;
  const { model, inks } = brush.job;
  const isGroup = kind === GROUP || kind === SERIES;
  const label = brush.job.label(item);
  const toggle = isGroup && showsSign(brush.job.textWidth(label), w, k);
  // Labels of groups are bolder than what was measured, and end before the sign that opens the group.
  const wide = isGroup ? (w - 14) / BOLDER : w - 16 + (k < 0.6 ? 6 : 0);
  const room = toggle ? labelRoom(w) : wide;
  // When zoomed out, text keeps a readable size while it fits, then shrinks, then is cut.
  const full = brush.job.textWidth(label) / 12;
  const usual = Math.max(kind === CONST ? 10.5 : 12, 8.5 / k);
  const least = Math.max(kind === CONST ? 10.5 : 12, 7 / k);
  const card = !isGroup && k >= 1.45;
  const near = card ? Math.min(usual, Math.max(0.34 * h, 17 / k)) : usual;
  const size = Math.min(h * 0.8, Math.min(near, Math.max(least, room / full)));
  if (size * k < READABLE) return;
  const two = isGroup && 9.5 * k >= 6.2 && size * 1.9 + 4 < h;
  const text = fitText(label, (room * 12) / size, brush.job.textWidth);
  if (text === '') return;
  brush.setFont(size, isGroup ? 500 : 400);
  s.fillStyle = kind === CONST ? inks.soft : inks.text;
  s.textAlign = isGroup ? 'left' : 'center';
  s.textBaseline = 'middle';
  const tx = isGroup ? x + 10 : x + w / 2;
  const middle = y + h / 2 + 0.5;
  s.fillText(text, tx, two ? middle - 7.5 : card ? middle - h * 0.17 : middle);
  if (two) {
    brush.setFont(9.5);
    s.fillStyle = inks.soft;
    const below = subtitle(brush.job, item, kind);
    s.fillText(fitText(below, (room * 12) / 9.5, brush.job.textWidth), tx, middle + 8);
  } else if (card) {
    // When zoomed in: op, output shape and device; text grows less than boxes do.
    const small = Math.min(6.5, Math.max(3.8, 11 / k));
    brush.setFont(small);
    s.fillStyle = inks.soft;
    const op = model.opName(item);
    const lines = [
      [op === label ? '' : op, model.shapeOf(item)].filter((t) => t !== '').join(' · ') || op,
      model.deviceName(item),
    ].filter((t) => t !== '');
    const rows = k > 2.2 && kind !== CONST ? lines : lines.slice(0, 1);
    rows.forEach((line, i) => {
      const words = fitText(line, (w - 10) * (12 / small), brush.job.textWidth);
      s.fillText(words, tx, middle + h * 0.17 + i * small * 1.3 + (rows.length > 1 ? -0.5 : 1.5));
    });
  }
  if (toggle) drawSign(brush, x + w - 14, y + h / 2, false);
}

function subtitle(job: DrawJob, item: number, kind: number): string {
  const { model } = job;
  if (kind === SERIES) {
    const members = verticesOf(model, job.indexed.pulled, item);
    let ops = 0;
    for (const m of members) ops += model.size[m]!;
    return ops === members.length ? `×${ops}` : `×${members.length} · ${model.opsText(ops)}`;
  }
  return model.opsText(model.size[item]!);
}
