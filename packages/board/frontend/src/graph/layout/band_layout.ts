/** Groups with very many or very wide children: rows by rank, wrapped to a page, without dummies. */
import { edgesToReverse } from './cycles.ts';
import type { LayeredGraph, Placed } from './layered_graph.ts';
import type { Sizes } from './place_layers.ts';
import { longestPath } from './ranks.ts';

const GAP_X = 18;
const GAP_Y = 22;
const BAND_GAP = 40;
const ASPECT = 1.6;
const COLUMN_GAP = 60;
const TALL = 2.5; // height over width from which rows are wrapped into columns

interface Row {
  nodes: number[];
  width: number;
  height: number;
  /** The space kept free above it. */
  gap: number;
}

export function bandRanks(graph: LayeredGraph): Int32Array {
  const { n, src, dst, role } = graph;
  const kept: number[] = [];
  for (let e = 0; e < src.length; e++) {
    if (src[e] !== dst[e] && !role?.[src[e]!] && !role?.[dst[e]!]) kept.push(e);
  }
  const from = Int32Array.from(kept, (e) => src[e]!);
  const to = Int32Array.from(kept, (e) => dst[e]!);
  const turn = edgesToReverse(n, from, to, undefined);
  const rank = longestPath(
    n,
    from.map((s, i) => (turn[i] ? to[i]! : s)),
    to.map((d, i) => (turn[i] ? from[i]! : d)),
  );
  let last = 0;
  for (let v = 0; v < n; v++) last = Math.max(last, rank[v]! + 1);
  for (let v = 0; v < n; v++) rank[v] = role?.[v] === 1 ? 0 : role?.[v] === 2 ? last + 1 : rank[v]! + 1;
  return rank;
}

export function placeBands(graph: LayeredGraph, rank: Int32Array, sizes: Sizes): Placed {
  const { n, src, dst } = graph;
  const { width, height } = sizes;
  const wide = (v: number) => width[v]! + (sizes.reserve?.[v] ?? 0);
  const bands: number[][] = [];
  let area = 0;
  for (let v = 0; v < n; v++) {
    bands[rank[v]!] ??= [];
    bands[rank[v]!]!.push(v);
    area += (wide(v) + GAP_X) * (height[v]! + GAP_Y);
  }
  const line = Math.max(300, Math.sqrt(area * ASPECT));
  const rows: Row[] = [];
  for (const band of bands) {
    if (!band) continue;
    // Equal sizes stand together, so that rows are even; within one size the order is kept.
    const sorted = [...band].sort((a, b) => height[a]! - height[b]! || a - b);
    let row: Row | null = null;
    for (const v of sorted) {
      if (!row || row.width + GAP_X + wide(v) > line) {
        row = { nodes: [], width: -GAP_X, height: 0, gap: row ? GAP_Y : BAND_GAP };
        rows.push(row);
      }
      row.nodes.push(v);
      row.width += GAP_X + wide(v);
      row.height = Math.max(row.height, height[v]!);
    }
  }
  const x = new Float64Array(n);
  const y = new Float64Array(n);
  let left = 0;
  let right = 0;
  let bottom = 0;
  for (const column of columnsOf(rows)) {
    let top = 0;
    column.forEach((row, i) => {
      if (i > 0) top += row.gap;
      let at = left;
      for (const v of row.nodes) {
        x[v] = at + width[v]! / 2;
        y[v] = top + row.height / 2;
        at += wide(v) + GAP_X;
      }
      right = Math.max(right, left + row.width);
      top += row.height;
    });
    bottom = Math.max(bottom, top);
    left = right + COLUMN_GAP;
  }
  const points = new Float32Array(4 * src.length);
  const start = new Int32Array(src.length + 1);
  for (let e = 0; e < src.length; e++) {
    const a = src[e]!;
    const b = dst[e]!;
    const down = y[b]! >= y[a]!;
    points[4 * e] = meets(x[a]!, width[a]!, sizes.srcPort?.[e]);
    points[4 * e + 1] = y[a]! + ((down ? 1 : -1) * height[a]!) / 2;
    points[4 * e + 2] = meets(x[b]!, width[b]!, sizes.dstPort?.[e]);
    points[4 * e + 3] = y[b]! - ((down ? 1 : -1) * height[b]!) / 2;
    start[e + 1] = 2 * (e + 1);
  }
  return { x, y, width: right, height: bottom, points, start };
}

/** Rows one below the other, in as many columns as make a page of them. */
function columnsOf(rows: Row[]): Row[][] {
  let height = 0;
  let width = 0;
  for (const row of rows) {
    height += row.height + row.gap;
    width = Math.max(width, row.width);
  }
  const count = height < TALL * width ? 1 : Math.round(Math.sqrt((ASPECT * height) / (width + COLUMN_GAP)));
  const columns: Row[][] = [[]];
  let sum = 0;
  for (const row of rows) {
    const last = columns[columns.length - 1]!;
    if (last.length > 0 && sum + row.height / 2 > (height * columns.length) / count) columns.push([row]);
    else last.push(row);
    sum += row.height + row.gap;
  }
  return columns;
}

/** Where an edge meets a box: at its centre, or where it continues inside. */
function meets(x: number, width: number, port: number | undefined): number {
  return port === undefined || Number.isNaN(port) ? x : x - width / 2 + port;
}
