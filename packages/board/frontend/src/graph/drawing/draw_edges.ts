/** Draws edges: curves by width, arrowheads, and tensor shapes where there is room. */

import { FROM_PORT, TO_PORT } from '../scene/scene.ts';
import { type Brush, READABLE } from './brush.ts';
import { edgeWidth, traceEdge } from './edge_path.ts';

const CHUNK = 300;

export function* drawEdges(brush: Brush, found: number[]): Generator<void> {
  const { scene } = brush.job.indexed;
  const { s, k } = brush;
  const { bright, lit } = brush.job.emphasis;
  const { edgeBox, control, data, points, pointStart, from, to, bytes } = scene;
  const least = 5 / k;
  // One stroke for all edges of a width: buckets of half a pixel.
  const buckets = new Map<string, number[]>();
  for (const e of found) {
    if (edgeBox[4 * e + 2]! - edgeBox[4 * e]! < least && edgeBox[4 * e + 3]! - edgeBox[4 * e + 1]! < least)
      continue;
    const onlyControl = data[e] === 0 && control[e]! > 0;
    const isBright = bright?.has(e) ?? false;
    const faint = lit !== null;
    const w = Math.round(edgeWidth(data[e]!, bytes[e]!) * 2) / 2;
    const key = `${isBright ? 'b' : faint ? 'f' : 'n'}${onlyControl ? 'c' : 'd'}${w}`;
    const bucket = buckets.get(key);
    if (bucket) bucket.push(e);
    else buckets.set(key, [e]);
  }
  const order = [...buckets.keys()].sort(
    (a, b) => (a[0] === 'b' ? 1 : 0) - (b[0] === 'b' ? 1 : 0) || (a < b ? -1 : 1),
  );
  const heads = k > 0.2;
  const labels = new Labels();
  let drawn = 0;
  s.lineCap = 'butt';
  const alpha = s.globalAlpha;
  for (const key of order) {
    const isControl = key[1] === 'c';
    const isBright = key[0] === 'b';
    const w = Number(key.slice(2)) * (isBright ? 1.25 : 1);
    const { inks } = brush.job;
    const plain = key[0] === 'f' ? inks.edgeFaint : isControl ? inks.control : inks.edge;
    s.strokeStyle = isBright ? inks.accent : plain;
    s.lineWidth = Math.max(w, 0.8 / k);
    if (isControl) s.setLineDash([4, 3.5]);
    const bucket = buckets.get(key)!;
    for (let from = 0; from < bucket.length; from += 100) {
      s.beginPath();
      for (const e of bucket.slice(from, from + 100)) {
        const cut = heads && !(scene.edgeFlags[e]! & TO_PORT) ? 6 : 0;
        traceEdge(s, points, pointStart[e]!, pointStart[e + 1]!, cut);
      }
      s.stroke();
      drawn += 100;
      if (drawn % CHUNK === 0) yield;
    }
    if (isControl) s.setLineDash([]);
    if (!heads) continue;
    s.fillStyle = s.strokeStyle;
    s.beginPath();
    for (const e of bucket) if (!(scene.edgeFlags[e]! & TO_PORT)) head(brush, e, w);
    s.fill();
  }
  s.globalAlpha = alpha;
  if (8.5 * k < READABLE || brush.job.edgeAlpha !== undefined) return;
  // Shapes of tensors, where there is room for them.
  brush.setFont(8.5);
  s.textAlign = 'center';
  s.textBaseline = 'middle';
  for (const e of found) {
    if (data[e] === 0 || scene.edgeFlags[e]! & FROM_PORT) continue;
    if (edgeBox[4 * e + 3]! - edgeBox[4 * e + 1]! < 22) continue;
    const text = brush.job.indexed.edgeLabel(brush.job.model, e, from[e]!, to[e]!, data[e]!);
    if (!text) continue;
    const w = (brush.job.textWidth(text) * 8.5) / 12 + 6;
    const p = pointStart[e]!;
    const x = points[2 * p]!;
    const down = points[2 * p + 3]! >= points[2 * p + 1]! ? 1 : -1;
    const y = points[2 * p + 1]! + down * 10;
    if (!labels.take(`${from[e]}:${text}:${scene.edgeGroup[e]}`, x - w / 2, y - 5.5, w, 11)) continue;
    s.globalAlpha = 0.86;
    s.fillStyle = brush.groundOf(scene.edgeGroup[e]!);
    s.fillRect(x - w / 2, y - 5.5, w, 11);
    s.globalAlpha = lit && !bright?.has(e) ? 0.5 : 1;
    s.fillStyle = bright?.has(e) ? brush.job.inks.accent : brush.job.inks.faint;
    s.fillText(text, x, y + 0.5);
  }
  s.globalAlpha = alpha;
}

function head(brush: Brush, e: number, width: number): void {
  const { points, pointStart } = brush.job.indexed.scene;
  const end = pointStart[e + 1]! - 1;
  const x = points[2 * end]!;
  const y = points[2 * end + 1]!;
  const before = points[2 * end - 1]!;
  const d = y >= before ? 1 : -1;
  const half = 2.6 + 0.75 * width;
  const long = 6 + width * 0.8;
  brush.s.moveTo(x, y - d * 0.5);
  brush.s.lineTo(x - half, y - d * long);
  brush.s.lineTo(x + half, y - d * long);
  brush.s.closePath();
}

/** Rectangles that labels took; the next one must stay clear of them. */
class Labels {
  private readonly taken: [number, number, number, number][] = [];
  private readonly keys = new Set<string>();

  take(key: string, x: number, y: number, w: number, h: number): boolean {
    if (this.keys.has(key) || this.taken.length > 400) return false;
    for (const [a, b, c, d] of this.taken) {
      if (x < a + c && a < x + w && y < b + d && b < y + h) return false;
    }
    this.keys.add(key);
    this.taken.push([x, y, w, h]);
    return true;
  }
}
