/** Draws the memory that an allocator held over the time of a step. */

import { memorySize } from '../../units/bytes.ts';
import type { MemoryCurve } from '../data/trace_api.ts';
import { spanOf } from '../layout/time_view.ts';
import type { Context, TimelineScene } from './timeline_scene.ts';

export function drawMemory(
  on: Context,
  picture: TimelineScene,
  curve: MemoryCurve,
  duration: number,
  y: number,
  height: number,
): void {
  const { view, width, ink } = picture;
  const { time, bytes } = curve;
  if (!time.length || curve.peak <= 0) return;
  const scale = width / spanOf(view);
  const base = y + height - 3;
  const room = height - 10;
  const at = (value: number) => base - (Math.max(0, value) / curve.peak) * room;
  on.beginPath();
  let last = Math.max(0, (time[0]! - view.t0) * scale);
  on.moveTo(last, base);
  let level = base;
  for (let i = 0; i < time.length; i++) {
    const x = Math.min(width, Math.max(0, (time[i]! - view.t0) * scale));
    on.lineTo(x, level);
    level = at(bytes[i]!);
    on.lineTo(x, level);
    last = x;
  }
  const end = Math.min(width, (Math.max(time.at(-1)!, duration) - view.t0) * scale);
  on.lineTo(Math.max(last, end), level);
  on.lineTo(Math.max(last, end), base);
  on.closePath();
  on.fillStyle = ink.accent;
  on.globalAlpha = 0.16;
  on.fill();
  // Where changes are closer than a pixel, an opaque line would be a solid block.
  on.globalAlpha = time.length > width ? 0.25 : 0.85;
  on.strokeStyle = ink.accent;
  on.lineWidth = 1;
  on.stroke();
  on.globalAlpha = 1;
  const peak = (curve.peak_ns - view.t0) * scale;
  if (peak >= 0 && peak <= width) {
    on.fillStyle = ink.accent;
    on.beginPath();
    on.arc(peak, at(curve.peak), 2.5, 0, 7);
    on.fill();
    on.font = `10.5px ${ink.font}`;
    on.textBaseline = 'top';
    const right = peak > width - 90;
    on.textAlign = right ? 'right' : 'left';
    on.fillStyle = ink.soft;
    on.fillText(memorySize(curve.peak), peak + (right ? -6 : 6), y + 3);
  }
}
