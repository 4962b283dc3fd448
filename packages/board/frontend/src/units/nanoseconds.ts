/** Times of a trace, which the log has in nanoseconds, as the page writes them. */

export const NANOSECOND_UNITS: [unit: string, nanoseconds: number][] = [
  ['s', 1e9],
  ['ms', 1e6],
  ['µs', 1e3],
  ['ns', 1],
];

/** A duration with three significant digits, trailing zeros included: 1.24 ms, 812 ns, 4.02 s. */
export function nanosecondsText(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1) return '0 ns';
  const [unit, scale] = NANOSECOND_UNITS.find(([, s]) => size >= s * 0.9995) ?? NANOSECOND_UNITS[3]!;
  const value = ns / scale;
  if (unit === 'ns') return `${Math.round(value)} ns`;
  const digits = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** A point in time, with as many digits as a window of that span resolves: 205.4127 ms. */
export function momentInSpan(ns: number, span: number): string {
  const [unit, size] = NANOSECOND_UNITS.find(([, s]) => Math.abs(ns) >= s) ?? NANOSECOND_UNITS[3]!;
  const resolution = Math.max(1, span / 1000);
  const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / resolution) - 1e-9)));
  return `${(ns / size).toFixed(decimals)} ${unit}`;
}

/** A time with all its nanoseconds, in groups of three: 1 234 567 ns. */
export function exactNanoseconds(ns: number): string {
  return `${String(Math.round(ns)).replace(/\B(?=(\d{3})+(?!\d))/g, ' ')} ns`;
}
