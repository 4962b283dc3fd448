/** How much a metric hangs on a hyperparameter, by ranks: no shape of the relation is assumed but its order. */
import type { Cell, Column } from './model.ts';

export interface Importance {
  param: string;
  title: string;
  kind: Column['kind'];
  /** 0 to 1. */
  strength: number;
  /** 1: both rise together; -1: one falls; 0: the parameter has no order. */
  sign: -1 | 0 | 1;
  /** Sessions that have both. */
  pairs: number;
}

/** Ranks from 1; equal values share the mean of theirs. */
export function ranks(values: number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => values[a]! - values[b]!);
  const out = new Array<number>(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1]!] === values[order[from]!]) to++;
    for (let i = from; i <= to; i++) out[order[i]!] = (from + to) / 2 + 1;
    from = to + 1;
  }
  return out;
}

/** Spearman's rho; NaN where one side does not vary. */
export function spearman(x: number[], y: number[]): number {
  return pearson(ranks(x), ranks(y));
}

function pearson(x: number[], y: number[]): number {
  const n = x.length;
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / n;
  const [mx, my] = [mean(x), mean(y)];
  let xy = 0;
  let xx = 0;
  let yy = 0;
  for (let i = 0; i < n; i++) {
    xy += (x[i]! - mx) * (y[i]! - my);
    xx += (x[i]! - mx) ** 2;
    yy += (y[i]! - my) ** 2;
  }
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : Number.NaN;
}

/**
 * The correlation ratio of ranks: what share of their spread the group explains, as a root, corrected for
 * the share that as many groups explain by chance.
 */
export function groupStrength(groups: string[], y: number[]): number {
  const rank = ranks(y);
  const n = rank.length;
  const mean = (n + 1) / 2;
  const sums = new Map<string, { sum: number; n: number }>();
  groups.forEach((group, i) => {
    const entry = sums.get(group) ?? { sum: 0, n: 0 };
    entry.sum += rank[i]!;
    entry.n++;
    sums.set(group, entry);
  });
  const total = rank.reduce((sum, r) => sum + (r - mean) ** 2, 0);
  if (!(total > 0) || sums.size < 2 || n <= sums.size) return Number.NaN;
  let between = 0;
  for (const { sum, n: size } of sums.values()) between += size * (sum / size - mean) ** 2;
  const corrected = 1 - ((1 - between / total) * (n - 1)) / (n - sums.size);
  return Math.sqrt(Math.max(0, corrected));
}

/** The parameters that a metric hangs on, the strongest first; those that say nothing are left out. */
export function importances(params: Column[], metric: Column): Importance[] {
  const found: Importance[] = [];
  for (const param of params) {
    const rows = metric.cells
      .map((_, row) => row)
      .filter((row) => known(metric.cells[row]!) && known(param.cells[row]!));
    const y = rows.map((row) => metric.cells[row] as number);
    if (rows.length < 3) continue;
    if (param.kind === 'string') {
      const strength = groupStrength(
        rows.map((row) => String(param.cells[row])),
        y,
      );
      add(strength, 0, param, rows.length);
    } else {
      const rho = spearman(
        rows.map((row) => Number(param.cells[row])),
        y,
      );
      add(Math.abs(rho), rho < 0 ? -1 : 1, param, rows.length);
    }
  }
  return found.sort((a, b) => b.strength - a.strength);

  function add(strength: number, sign: -1 | 0 | 1, param: Column, pairs: number): void {
    if (Number.isNaN(strength)) return;
    found.push({ param: param.id, title: param.title, kind: param.kind, strength, sign, pairs });
  }
}

function known(cell: Cell): boolean {
  return cell !== null && !(typeof cell === 'number' && !Number.isFinite(cell));
}
