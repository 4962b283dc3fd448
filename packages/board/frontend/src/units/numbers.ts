/** Numbers as the page writes them. */

/** From here on not all whole numbers can be told apart. */
const MOST_EXACT = 2 ** 53;

/** A whole number with its thousands apart: 1,234,567; beyond what is exact in few digits. */
export const count = (n: number): string =>
  Math.abs(n) < MOST_EXACT ? n.toLocaleString('en') : shortNumber(n);

/** How many of a thing: "1 run", "2,000 runs". */
export const counted = (n: number, one: string, several = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : several}`;

/** A share as a percentage, with a decimal below 10 %: 0.4 %, 12 %. */
export function percent(share: number): string {
  const value = 100 * share;
  return `${value >= 9.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/** As percent, with one more decimal: 1.23 %, 45.6 %. */
export const precisePercent = (share: number): string => `${(share * 100).toFixed(share < 0.0995 ? 2 : 1)} %`;

/** A number in at most `digits` significant digits, without trailing zeros: 123457, 1.2346e7, +Inf. */
export function shortNumber(value: number, digits = 5): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '\u2212Inf';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return withMinus(String(value));
  if (size >= 10 ** digits && size < 1e7) return withMinus(value.toFixed(0));
  const text = size >= 1e7 || size < 1e-4 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  return withMinus(withoutZeros(text).replace('e+', 'e'));
}

/** A number with an SI prefix, as short as an axis needs it: 12k, 3M, 2.5e−7, ∞. */
export function prefixedNumber(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞';
  if (size === 0) return '0';
  if (size >= 1e15 || size < 1e-4) return withMinus(withoutZeros(value.toExponential(2)));
  if (size < 1e4) return withMinus(String(Number(value.toPrecision(4))));
  const [unit, prefix] = prefixOf(size);
  return withMinus(`${withoutZeros((value / unit).toFixed(2))}${prefix}`);
}

/** The greatest SI unit up to tera that is not above a size of at least 1000. */
export function prefixOf(size: number): [unit: number, prefix: string] {
  if (size >= 1e12) return [1e12, 'T'];
  if (size >= 1e9) return [1e9, 'G'];
  if (size >= 1e6) return [1e6, 'M'];
  return [1e3, 'k'];
}

/** Puts the minus sign in place of hyphens. */
export const withMinus = (text: string): string => text.replace(/^-/, '\u2212').replace('e-', 'e\u2212');

const withoutZeros = (text: string): string =>
  text.replace(/(\.\d*?)0+(?=e|$)/, '$1').replace(/\.(?=e|$)/, '');
