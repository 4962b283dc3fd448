/** Draws opened groups with their titles, strips of auxiliary nodes, and stubs of the edges to these. */

import { STUB_FONT_PX } from '../scene/box_sizes.ts';
import { AUXILIARY } from '../scene/scene.ts';
import { type Brush, READABLE } from './brush.ts';
import { drawSign, SIGNS } from './draw_sign.ts';
import { fitText } from './fit_text.ts';

const BOLDER = 1.09; // bold text is wider than measured text by about this factor
const TITLE_LEFT = 12;
/** What a title leaves free at the right of an opened group: the sign, and a gap before it. */
const SIGN_ROOM = 28;

/** The background of an opened group. */
export function drawGround(brush: Brush, i: number): void {
  const { scene } = brush.job.indexed;
  const { s } = brush;
  const item = scene.item[i]!;
  const [x, y, w, h] = brush.box(i);
  s.globalAlpha = brush.job.itemAlpha?.[i] ?? 1;
  s.fillStyle = brush.job.paint.openFill(item, scene.depth[i]!);
  if (h * brush.k < 10) {
    s.fillStyle = brush.job.paint.style(item).fill;
    s.fillRect(x, y, w, h);
  } else {
    s.beginPath();
    s.roundRect(x, y, w, h, Math.min(10, h / 4));
    s.fill();
    s.strokeStyle = brush.job.paint.border(item);
    s.lineWidth = brush.hair;
    s.stroke();
  }
  s.globalAlpha = 1;
}

/** The strips of auxiliary nodes. */
export function drawStrips(brush: Brush): void {
  const { scene } = brush.job.indexed;
  const { s, k } = brush;
  const { strips } = scene;
  for (let i = 0; i < strips.length; i += 5) {
    const [x, y, w, h] = [strips[i + 1]!, strips[i + 2]!, strips[i + 3]!, strips[i + 4]!];
    if (h * k < 10) continue;
    s.fillStyle = brush.job.inks.strip;
    s.beginPath();
    s.roundRect(x, y, w, h, 8);
    s.fill();
    s.strokeStyle = brush.job.inks.line;
    s.lineWidth = brush.hair;
    s.setLineDash([3 * brush.hair, 3 * brush.hair]);
    s.stroke();
    s.setLineDash([]);
    if (10 * k >= READABLE) {
      brush.setFont(10, 500);
      s.fillStyle = brush.job.inks.faint;
      s.textAlign = 'left';
      s.textBaseline = 'middle';
      s.fillText(w > 100 ? 'Auxiliary nodes' : 'Auxiliary', x + 10, y + 13);
    }
  }
}

/** Draws the title of an opened group over the edges. */
export function drawTitle(brush: Brush, i: number): void {
  const { scene } = brush.job.indexed;
  const { s, k } = brush;
  const { model, inks } = brush.job;
  const item = scene.item[i]!;
  const [x, y, w, h] = brush.box(i);
  if (30 * k < 10 || w * k < 40 || h * k < 14) return;
  const size = Math.max(12, 9.5 / k);
  const room = w - TITLE_LEFT - (k >= SIGNS ? SIGN_ROOM : TITLE_LEFT);
  const label = fitText(brush.job.label(item), ((room / BOLDER) * 12) / size - 1, brush.job.textWidth);
  if (label === '') return;
  s.globalAlpha = brush.job.itemAlpha?.[i] ?? 1;
  const wide = (brush.job.textWidth(label) * size * BOLDER) / 12;
  const more = k >= 0.6 ? model.opsText(model.size[item]!) : '';
  const moreWanted = more ? (brush.job.textWidth(more) * 9.5) / 12 + 8 : 0;
  const moreWide = wide + moreWanted <= room ? moreWanted : 0;
  // Lines pass beneath the words.
  s.fillStyle = brush.job.paint.openFill(item, scene.depth[i]!);
  s.beginPath();
  s.roundRect(x + 6, y + 5, wide + moreWide + 12, 20, 5);
  s.fill();
  brush.setFont(size, 600);
  s.fillStyle = inks.text;
  s.textAlign = 'left';
  s.textBaseline = 'middle';
  s.fillText(label, x + TITLE_LEFT, y + 15.5);
  if (moreWide > 0) {
    brush.setFont(9.5);
    s.fillStyle = inks.faint;
    s.fillText(more, x + TITLE_LEFT + wide + 8, y + 16);
  }
  if (k >= SIGNS) {
    s.fillStyle = brush.job.paint.openFill(item, scene.depth[i]!);
    s.fillRect(x + w - 24, y + 6, 18, 18);
    drawSign(brush, x + w - 15, y + 15, true);
  }
  s.globalAlpha = 1;
}

/** Labels of edges that lead to auxiliary nodes. */
export function drawStubs(brush: Brush, items: number[]): void {
  const { scene } = brush.job.indexed;
  const { s, boxes } = brush;
  const { inks } = brush.job;
  const shown = new Set(items);
  const { stubs } = scene;
  brush.setFont(STUB_FONT_PX);
  s.textAlign = 'left';
  s.textBaseline = 'middle';
  for (let i = 0; i < stubs.length; ) {
    const at = stubs[i]!;
    let end = i;
    while (end < stubs.length && stubs[end] === at) end += 4;
    if (shown.has(at) && !(scene.flags[at]! & AUXILIARY)) {
      const x = boxes[4 * at]! + boxes[4 * at + 2]!;
      const y = boxes[4 * at + 1]! + boxes[4 * at + 3]! / 2;
      const more = (end - i) / 4 - 1;
      const text = fitText(brush.job.label(stubs[i + 1]!), 66, brush.job.textWidth);
      s.globalAlpha = brush.alphaOf(at);
      s.strokeStyle = inks.control;
      s.lineWidth = 1;
      s.setLineDash([1.5, 2]);
      s.beginPath();
      s.moveTo(x + 1, y);
      s.lineTo(x + 11, y);
      s.stroke();
      s.setLineDash([]);
      s.fillStyle = inks.faint;
      s.fillText(more > 0 ? `${text} +${more}` : text, x + 13, y + 0.5);
    }
    i = end;
  }
  s.globalAlpha = 1;
}
