/** A condition on a column as text: `0.1..0.5`, `>3`, `<=2`, `adam|sgd`, or part of a word. */
import type { Cell } from './model.ts';

export type Filter =
  | { kind: 'range'; lo: number; hi: number; openLo: boolean; openHi: boolean }
  | { kind: 'words'; words: string[] };

const NUMBER = '[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?';
const RANGE = new RegExp(`^(${NUMBER})?\\s*\\.\\.\\s*(${NUMBER})?$`, 'i');
const BOUND = new RegExp(`^(<=|>=|<|>|=)\\s*(${NUMBER})$`, 'i');

/** null: no condition. */
export function parseFilter(text: string): Filter | null {
  const trimmed = text.trim();
  if (!trimmed || trimmed === '..') return null;
  const range = RANGE.exec(trimmed);
  if (range) {
    const lo = range[1] === undefined ? -Infinity : Number(range[1]);
    const hi = range[2] === undefined ? Infinity : Number(range[2]);
    return { kind: 'range', lo, hi, openLo: false, openHi: false };
  }
  const bound = BOUND.exec(trimmed);
  if (bound) {
    const value = Number(bound[2]);
    const sign = bound[1]!;
    if (sign === '=') return { kind: 'range', lo: value, hi: value, openLo: false, openHi: false };
    if (sign[0] === '<')
      return { kind: 'range', lo: -Infinity, hi: value, openLo: false, openHi: sign === '<' };
    return { kind: 'range', lo: value, hi: Infinity, openLo: sign === '>', openHi: false };
  }
  const words = trimmed.match(/\s*"[^"]*"|[^|]+/g) ?? [''];
  return { kind: 'words', words: words.map((word) => word.trim().toLowerCase()) };
}

/** Whether a cell meets a condition. An empty cell meets none. */
export function meets(filter: Filter, cell: Cell): boolean {
  if (cell === null) return false;
  if (filter.kind === 'range') {
    const value = typeof cell === 'number' ? cell : Number.NaN;
    return (
      (filter.openLo ? value > filter.lo : value >= filter.lo) &&
      (filter.openHi ? value < filter.hi : value <= filter.hi)
    );
  }
  const text = String(cell).toLowerCase();
  return filter.words.some((word) =>
    word.startsWith('"') && word.endsWith('"') && word.length > 1
      ? text === word.slice(1, -1)
      : word !== '' && text.includes(word),
  );
}

/** The text of a range, short but not so short that what lies on its border falls out. */
export function rangeText(lo: number, hi: number): string {
  const digits = (value: number, up: boolean) => {
    if (!Number.isFinite(value)) return '';
    for (let n = 3; n < 17; n++) {
      const short = Number(value.toPrecision(n));
      const near = Math.abs(short - value) <= Math.abs(hi - lo) * 1e-3;
      if (near && (up ? short >= value : short <= value)) return String(short);
    }
    return String(value);
  };
  return `${digits(lo, false)}..${digits(hi, true)}`;
}

/** The text that lets exactly these words through. */
export function wordsText(words: string[]): string {
  return words.map((word) => `"${word}"`).join('|');
}
