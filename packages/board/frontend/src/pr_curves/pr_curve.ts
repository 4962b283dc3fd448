/** Precision and recall over thresholds, and what follows from the counts behind them. */

/** Rows of the table of an event: tp, fp, tn, fn, precision, recall. */
export interface PrTable {
  step: number;
  wall: number;
  thresholds: number;
  /** 6 * thresholds numbers. */
  data: Float64Array;
}

export interface Point {
  threshold: number;
  tp: number;
  fp: number;
  tn: number;
  fn: number;
  precision: number;
  recall: number;
  /** NaN where it is not defined. */
  f1: number;
  falsePositiveRate: number;
}

/** Thresholds lie evenly in [0, 1], the last one at 1. */
export function pointAt(table: PrTable, index: number): Point {
  const n = table.thresholds;
  const at = (row: number) => table.data[row * n + index]!;
  const [tp, fp, tn, fn, precision, recall] = [0, 1, 2, 3, 4, 5].map(at) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    threshold: n > 1 ? index / (n - 1) : 0,
    tp,
    fp,
    tn,
    fn,
    precision,
    recall,
    f1: (2 * precision * recall) / (precision + recall),
    falsePositiveRate: fp / (fp + tn),
  };
}

export function pointsOf(table: PrTable): Point[] {
  return Array.from({ length: table.thresholds }, (_, i) => pointAt(table, i));
}

/**
 * Mean precision over recall, each step weighted by its gain of recall.
 *
 * It goes from the highest threshold to the lowest, as scikit-learn does: of thresholds with the same recall only
 * the highest counts, whose precision is what that recall costs.
 */
export function averagePrecision(points: Point[]): number {
  let area = 0;
  let before = 0;
  let any = false;
  for (const point of points.toReversed()) {
    if (!Number.isFinite(point.precision) || !Number.isFinite(point.recall)) continue;
    any = true;
    area += (point.recall - before) * point.precision;
    before = point.recall;
  }
  return any ? area : Number.NaN;
}

/** Area under true over false positive rate, by trapezia; NaN where one class has no example. */
export function areaUnderRoc(points: Point[]): number {
  const ends = [[0, 0], ...points.map((p) => [p.falsePositiveRate, p.tp / (p.tp + p.fn)]), [1, 1]] as [
    number,
    number,
  ][];
  if (ends.some(([x, y]) => Number.isNaN(x) || Number.isNaN(y))) return Number.NaN;
  ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let area = 0;
  for (let i = 1; i < ends.length; i++) {
    area += ((ends[i]![0] - ends[i - 1]![0]) * (ends[i]![1] + ends[i - 1]![1])) / 2;
  }
  return area;
}

export function bestF1(points: Point[]): Point | null {
  return points.reduce<Point | null>(
    (best, p) => (Number.isFinite(p.f1) && (!best || p.f1 > best.f1) ? p : best),
    null,
  );
}
