/** A colour for each point by a column of its labels. */

export type Rgb = [number, number, number];

export interface LabelColumn {
  name: string;
  numeric: boolean;
  distinct: number;
  values: string[];
}

export interface Group {
  value: string;
  count: number;
  /** -1 stands for all values without their own colour. */
  slot: number;
}

export type Colouring =
  | { kind: 'none' }
  | { kind: 'groups'; groups: Group[]; slotOf: Int16Array }
  | { kind: 'scale'; least: number; most: number; share: Float32Array };

export const MOST_GROUPS = 20;
/** Numbers with so few distinct values are classes, such as digits. */
const FEW = 12;

/** The colouring of a column: groups for names or few values, else a scale. */
export function colouringOf(column: LabelColumn | undefined): Colouring {
  if (!column) return { kind: 'none' };
  return column.numeric && column.distinct > FEW ? scaleOf(column.values) : groupsOf(column.values);
}

function groupsOf(values: string[]): Colouring {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const byCount = [...counts].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0]));
  const many = byCount.length > MOST_GROUPS;
  const named = byCount.slice(0, many ? MOST_GROUPS - 1 : MOST_GROUPS);
  named.sort((a, b) => collator.compare(a[0], b[0]));
  const slots = new Map(named.map(([value], slot) => [value, slot]));
  const groups: Group[] = named.map(([value, count], slot) => ({ value, count, slot }));
  if (many) {
    const rest = byCount.slice(named.length);
    const count = rest.reduce((sum, [, n]) => sum + n, 0);
    groups.push({ value: `${rest.length} others`, count, slot: -1 });
  }
  return { kind: 'groups', groups, slotOf: Int16Array.from(values, (value) => slots.get(value) ?? -1) };
}

function scaleOf(values: string[]): Colouring {
  const numbers = Float64Array.from(values, (v) => (v.trim() === '' ? Number.NaN : Number(v)));
  let least = Infinity;
  let most = -Infinity;
  for (const value of numbers) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const span = most - least || 1;
  return { kind: 'scale', least, most, share: Float32Array.from(numbers, (v) => (v - least) / span) };
}

const collator = new Intl.Collator('en', { numeric: true });

/** viridis (Smith and van der Walt 2015) at even steps. */
const STOPS: Rgb[] = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 74, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [109, 205, 89],
  [180, 222, 44],
  [253, 231, 37],
];

/** The colour of a scale, without the ends that would not contrast with the background. */
export function scaleColour(share: number, dark: boolean): Rgb {
  const bounded = Number.isNaN(share) ? 0 : Math.max(0, Math.min(1, share));
  const at = (dark ? 0.22 + 0.78 * bounded : 0.88 * bounded) * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  return mixed(STOPS[low]!, STOPS[low + 1]!, at - low);
}

export function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  return [0, 1, 2].map((k) => Math.round(a[k]! + (b[k]! - a[k]!) * share)) as Rgb;
}

/** `#rrggbb` or `#rgb`. */
export function rgbOf(css: string): Rgb {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(css.trim())?.[1];
  if (!hex) return [128, 128, 128];
  const full = hex.length === 3 ? [...hex].map((c) => c + c).join('') : hex;
  return [0, 2, 4].map((at) => Number.parseInt(full.slice(at, at + 2), 16)) as Rgb;
}

export const cssOf = ([r, g, b]: Rgb): string => `rgb(${r}, ${g}, ${b})`;
