/** Draws arrows between tracks: transfers, long waits and the critical path. */

import { nanosecondsText } from '../../units/nanoseconds.ts';
import { isWait } from '../data/trace_api.ts';
import { trackHeight } from '../layout/rows.ts';
import { spanOf } from '../layout/time_view.ts';
import { type Context, middles, type TimelineScene } from './timeline_scene.ts';
import type { ThemeColours } from './trace_colours.ts';

const MOST_HOPS = 160;
/** More arrows would hide each other, so only the longest are drawn. */
const MOST_ARROWS = 80;
const MOST_LABELS = 6;
/** A shorter arrow is almost vertical and adds nothing to what the tracks show. */
const LEAST_ARROW = 10;

/** How many transfers are visible, and how many of them have an arrow. */
export interface ArrowCounts {
  seen: number;
  drawn: number;
}

export const NO_ARROWS: ArrowCounts = { seen: 0, drawn: 0 };

export function drawHops(on: Context, picture: TimelineScene): void {
  const { view, width, ink, sections } = picture;
  const scale = width / spanOf(view);
  on.strokeStyle = ink.text;
  on.lineWidth = 1;
  on.globalAlpha = 0.65;
  sections.forEach((section, s) => {
    const middle = middles(picture, s);
    let drawn = 0;
    for (const hop of section.summary?.hops ?? []) {
      const from = (Math.min(hop.from, hop.to_end) - view.t0) * scale;
      const to = (Math.max(hop.to, Math.min(hop.from, hop.to_end)) - view.t0) * scale;
      if (to < 0 || from > width || drawn >= MOST_HOPS) continue;
      const [a, b] = [middle(hop.from_lane), middle(hop.to_lane)];
      if (a === null || b === null) continue;
      on.beginPath();
      on.moveTo(from, a);
      on.lineTo(to, b);
      on.stroke();
      drawn++;
    }
  });
  on.globalAlpha = 1;
}

export function drawArrows(on: Context, picture: TimelineScene): ArrowCounts {
  const left = { ...NO_ARROWS };
  const { view, width, height, ink, sections } = picture;
  const scale = width / spanOf(view);
  sections.forEach((section, s) => {
    const { summary } = section;
    if (!summary) return;
    const middle = middles(picture, s);
    const waits = summary.stalls.filter(isWait);
    const stalled = new Set(waits.map((stall) => stall.to.slice));
    const seen = summary.transfers.filter(
      (move) => !stalled.has(move.to_slice) && move.to >= view.t0 && move.from <= view.t1,
    );
    const long = seen
      .map((move) => ({ move, long: (move.to - move.from) * scale }))
      .filter(({ long }) => long >= LEAST_ARROW)
      .sort((a, b) => b.long - a.long);
    const wide = long.slice(0, MOST_ARROWS);
    left.seen += long.length;
    left.drawn += wide.length;
    const crowd = wide.length > 40 ? 0.3 : 0.6;
    for (const { move } of wide) {
      arrow(on, {
        x0: (move.from - view.t0) * scale,
        y0: middle(move.from_lane),
        x1: (move.to - view.t0) * scale,
        y1: middle(move.to_lane),
        colour: ink.soft,
        weight: 1,
        alpha: crowd,
        text: '',
        ink,
        width,
        height,
      });
    }
    let labels = 0;
    for (const stall of waits.slice(0, 60)) {
      const end = stall.begin + stall.wait_ns;
      if (end < view.t0 || stall.begin > view.t1 || stall.wait_ns * scale < 3) continue;
      const to = middle(stall.to.lane);
      const from = stall.from ? middle(stall.from.lane) : to;
      const begin = (stall.begin - view.t0) * scale;
      const right = (end - view.t0) * scale;
      if (to === null) continue;
      on.strokeStyle = ink.error;
      on.lineWidth = 2;
      const bar = to + trackHeight(picture.rows, s, stall.to.lane) / 2 - 2;
      on.beginPath();
      on.moveTo(Math.max(-4, begin), bar);
      on.lineTo(Math.min(width + 4, right), bar);
      on.stroke();
      const departs = stall.from ? Math.min(stall.from.start + stall.from.dur, end) : stall.begin;
      arrow(on, {
        x0: (departs - view.t0) * scale,
        y0: from,
        x1: right,
        y1: to,
        colour: ink.error,
        weight: 1.75,
        alpha: 1,
        text: labels++ < MOST_LABELS ? `${nanosecondsText(stall.wait_ns)} ${stall.kind}` : '',
        ink,
        width,
        height,
      });
    }
  });
  return left;
}

interface Arrow {
  x0: number;
  y0: number | null;
  x1: number;
  y1: number | null;
  colour: string;
  weight: number;
  alpha: number;
  text: string;
  ink: ThemeColours;
  width: number;
  height: number;
}

function arrow(
  on: Context,
  { x0, y0, x1, y1, colour, weight, alpha, text, ink, width, height }: Arrow,
): void {
  if (y0 === null || y1 === null) return;
  if ((y0 < -60 && y1 < -60) || (y0 > height + 60 && y1 > height + 60)) return;
  const reach = Math.min(60, Math.max(12, Math.abs(x1 - x0) / 2));
  on.globalAlpha = alpha;
  on.strokeStyle = colour;
  on.fillStyle = colour;
  on.lineWidth = weight;
  on.beginPath();
  on.moveTo(x0, y0);
  on.bezierCurveTo(x0 + reach, y0, x1 - reach, y1, x1, y1);
  on.stroke();
  const head = 3 + weight * 1.6;
  on.beginPath();
  on.moveTo(x1, y1);
  on.lineTo(x1 - head, y1 - head * 0.6);
  on.lineTo(x1 - head, y1 + head * 0.6);
  on.closePath();
  on.fill();
  on.globalAlpha = 1;
  if (!text) return;
  on.font = `600 10.5px ${ink.font}`;
  on.textAlign = 'left';
  on.textBaseline = 'middle';
  const size = on.measureText(text).width;
  const x = Math.max(4, Math.min(x1 + 6, width - size - 6));
  const y = y1 - 13;
  on.fillStyle = ink.surface;
  on.globalAlpha = 0.9;
  on.fillRect(x - 3, y - 7, size + 6, 14);
  on.globalAlpha = 1;
  on.fillStyle = colour;
  on.fillText(text, x, y + 0.5);
}
