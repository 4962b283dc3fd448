/** The curve of an edge through its points: upright at each of them, with round turns at columns. */

export interface Pen {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void;
}

export function traceEdge(pen: Pen, points: Float32Array, start: number, end: number, cut: number): void {
  let x = points[2 * start]!;
  let y = points[2 * start + 1]!;
  pen.moveTo(x, y);
  let heading = 1;
  for (let i = start + 1; i < end; i++) {
    const nx = points[2 * i]!;
    let ny = points[2 * i + 1]!;
    const last = i === end - 1;
    if (Math.abs(ny - y) < 0.5) {
      // A turn around the bottom or the top of a column.
      const bulge = y + heading * Math.min(26, Math.abs(nx - x) / 2 + 4);
      pen.bezierCurveTo(x, bulge, nx, bulge, nx, ny);
      heading = -heading;
    } else {
      heading = ny > y ? 1 : -1;
      // The line ends under its arrowhead, not in its tip.
      if (last) ny -= heading * Math.min(cut, Math.abs(ny - y) / 2);
      if (Math.abs(nx - x) < 0.5) pen.lineTo(nx, ny);
      else {
        const bend = (ny - y) * 0.5;
        pen.bezierCurveTo(x, y + bend, nx, ny - bend, nx, ny);
      }
    }
    x = nx;
    y = ny;
  }
}

export function edgeWidth(data: number, bytes: number): number {
  if (data === 0) return 1;
  if (bytes > 0) return Math.min(4.5, 1 + 0.21 * Math.max(0, Math.log2(bytes / 4096 + 1)));
  return Math.min(3, 1.1 + 0.3 * Math.log2(data));
}
