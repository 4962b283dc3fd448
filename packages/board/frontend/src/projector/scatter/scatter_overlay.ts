/** Draws what lies below and above the points: axes, rings, labels, the selection box. */
import { axesOf, type Camera, matrixOf, projectAll, type Screen } from '../../scene/orbit_camera.ts';
import type { Box } from './point_hit.ts';

export interface OverlayColours {
  ground: string;
  line: string;
  text: string;
  soft: string;
  accent: string;
  font: string;
}

/** Draws lines through the centre, with names for axes that have a meaning. */
export function drawAxes(
  on: CanvasRenderingContext2D,
  camera: Camera,
  width: number,
  height: number,
  flat: boolean,
  names: string[],
  colours: OverlayColours,
): void {
  on.clearRect(0, 0, width, height);
  const ends = Float32Array.from(
    [1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1].map((v) => v * 1.05),
  );
  const { x, y, scale } = projectAll(ends, matrixOf(camera, width, height, flat), width, height);
  const axes = axesOf(camera);
  on.font = `11.5px ${colours.font}`;
  on.textAlign = 'center';
  on.textBaseline = 'middle';
  on.lineWidth = 1;
  for (let axis = 0; axis < (flat ? 2 : 3); axis++) {
    const a = axis * 2;
    if (scale[a]! <= 0 || scale[a + 1]! <= 0) continue;
    on.strokeStyle = colours.line;
    on.beginPath();
    on.moveTo(x[a]!, y[a]!);
    on.lineTo(x[a + 1]!, y[a + 1]!);
    on.stroke();
    const length = Math.hypot(x[a]! - x[a + 1]!, y[a]! - y[a + 1]!);
    const name = names[axis];
    if (!name || length < 60) continue;
    // The name stands beyond the end that is nearer to the viewer.
    const end = axes[2]![axis]! < -0.3 ? a + 1 : a;
    const other = end === a ? a + 1 : a;
    const dx = (x[end]! - x[other]!) / length;
    const dy = (y[end]! - y[other]!) / length;
    on.fillStyle = colours.soft;
    const text = end === a ? name : `−${name}`;
    const half = on.measureText(text).width / 2;
    const left = Math.max(half + 8, Math.min(width - half - 8, x[end]! + dx * (8 + half)));
    on.fillText(text, left, Math.max(12, Math.min(height - 12, y[end]! + dy * 12)));
  }
}

export interface Label {
  at: number;
  text: string;
  strong: boolean;
}

/** Draws labels beside their points in order, without those that would overlap. Returns: how many were drawn. */
export function drawLabels(
  on: CanvasRenderingContext2D,
  labels: Label[],
  screen: Screen,
  width: number,
  height: number,
  most: number,
  offset: number,
  colours: OverlayColours,
): number {
  const taken: [number, number, number, number][] = [];
  on.textAlign = 'left';
  on.textBaseline = 'middle';
  on.lineJoin = 'round';
  let count = 0;
  for (const { at, text, strong } of labels) {
    if (count >= most) break;
    const px = screen.x[at]!;
    const py = screen.y[at]!;
    if (screen.scale[at]! <= 0 || px < 0 || py < 0 || px > width || py > height) continue;
    on.font = `${strong ? '600 12px' : '11.5px'} ${colours.font}`;
    const long = on.measureText(text).width;
    const left = px + offset + long + 4 > width ? px - offset - long : px + offset;
    const box: [number, number, number, number] = [left - 2, py - 8, left + long + 2, py + 8];
    if (!strong && taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1]))
      continue;
    taken.push(box);
    count++;
    on.lineWidth = 3.5;
    on.strokeStyle = colours.ground;
    on.strokeText(text, left, py);
    on.fillStyle = strong ? colours.text : colours.soft;
    on.fillText(text, left, py);
  }
  return count;
}

export function drawRing(
  on: CanvasRenderingContext2D,
  screen: Screen,
  at: number,
  radius: number,
  colour: string,
  ground: string,
  square: boolean,
): void {
  const px = screen.x[at]!;
  const py = screen.y[at]!;
  if (!(screen.scale[at]! > 0)) return;
  for (const [width, style] of [
    [4, ground],
    [2, colour],
  ] as const) {
    on.lineWidth = width;
    on.strokeStyle = style;
    on.beginPath();
    if (square) on.rect(px - radius, py - radius, radius * 2, radius * 2);
    else on.arc(px, py, radius, 0, 2 * Math.PI);
    on.stroke();
  }
}

export function drawBox(on: CanvasRenderingContext2D, [x0, y0, x1, y1]: Box, accent: string): void {
  on.strokeStyle = accent;
  on.lineWidth = 1;
  on.setLineDash([4, 3]);
  on.strokeRect(Math.min(x0, x1) + 0.5, Math.min(y0, y1) + 0.5, Math.abs(x1 - x0), Math.abs(y1 - y0));
  on.setLineDash([]);
  on.globalAlpha = 0.08;
  on.fillStyle = accent;
  on.fillRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
  on.globalAlpha = 1;
}
