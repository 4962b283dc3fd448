/** Where axes have ticks, and their labels. */
import { two } from './dates.ts';
import { duration, inTwoParts } from './durations.ts';
import { NANOSECOND_UNITS } from './nanoseconds.ts';
import { prefixOf, shortNumber, withMinus } from './numbers.ts';

export interface Ticks {
  at: number[];
  labels: string[];
}

export type Scale = 'linear' | 'log' | 'symlog';
export type Unit = 'number' | 'step' | 'duration' | 'time';

const STEPS = [1, 2, 2.5, 5, 10];
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The least round distance of ticks of which at most `most` fit into a span. */
function stepWithin(span: number, most: number, whole = false): number {
  const raw = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  for (const step of STEPS) {
    if (step * power >= raw * 0.999999 && !(whole && (step * power) % 1 !== 0)) return step * power;
  }
  return whole ? Math.max(1, Math.round(10 * power)) : 10 * power;
}

/** Ticks between lo and hi (data units), at most `most` of them. */
export function ticksOf(lo: number, hi: number, most: number, scale: Scale, unit: Unit): Ticks {
  if (!(hi > lo) || !Number.isFinite(hi - lo)) {
    const at = Number.isFinite(lo) ? [lo] : [];
    return {
      at,
      labels: at.map((v) =>
        unit === 'time' ? clock(v, 60, true) : unit === 'duration' ? duration(v) : shortNumber(v),
      ),
    };
  }
  if (scale === 'log') return logTicks(lo, hi, most, unit);
  if (scale === 'symlog') return symlogTicks(lo, hi, most);
  if (unit === 'duration' || unit === 'time') return timeTicks(lo, hi, most, unit);
  const step = stepWithin(hi - lo, most, unit === 'step');
  const at: number[] = [];
  const first = Math.ceil(lo / step - 1e-9);
  // Numbers that lie closer together than a double can count have no round ones in between.
  if (!(step > 0) || !(Math.abs(first) + most < Number.MAX_SAFE_INTEGER))
    return ticksOf(lo, lo, most, scale, unit);
  for (let i = first; i * step <= hi + step * 1e-9; i++) at.push(tidy(i * step, step));
  return { at, labels: labelsOf(at, step) };
}

const tidy = (value: number, step: number): number => {
  const digits = Math.max(0, Math.min(20, 2 - Math.floor(Math.log10(step))));
  return Number(value.toFixed(digits)) + 0;
};

function labelsOf(at: number[], step: number): string[] {
  const largest = Math.max(...at.map(Math.abs), 0);
  if (largest >= 10_000 || (largest > 0 && largest < 1e-3)) {
    const [unit, suffix] = largest < 1e-3 || largest >= 1e15 ? [0, ''] : prefixOf(largest);
    if (unit > 0) {
      const digits = decimals(step / unit);
      return at.map((v) => (v === 0 ? '0' : `${withMinus((v / unit).toFixed(digits))}${suffix}`));
    }
    return at.map((v) => (v === 0 ? '0' : withMinus(exponential(v, step))));
  }
  const digits = decimals(step);
  return at.map((v) => withMinus(v.toFixed(digits)));
}

/** How many decimals a multiple of step needs. */
function decimals(step: number): number {
  for (let digits = 0; digits < 12; digits++) {
    const scaled = step * 10 ** digits;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return digits;
  }
  return 12;
}

function exponential(value: number, step: number): string {
  const digits = Math.max(0, Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(step)));
  return value
    .toExponential(Math.min(digits, 8))
    .replace(/\.?0+e/, 'e')
    .replace('e+', 'e');
}

function logTicks(lo: number, hi: number, most: number, unit: Unit): Ticks {
  const from = Math.log10(Math.max(lo, Number.MIN_VALUE));
  const to = Math.log10(hi);
  const decades = Math.floor(to + 1e-9) - Math.ceil(from - 1e-9) + 1;
  if (decades < 2 && hi / lo < 30) {
    // Within one decade a linear division is clearer.
    const all = ticksOf(lo, hi, most, 'linear', unit);
    return all.at.length > 1 ? all : { at: [lo, hi], labels: [shortNumber(lo), shortNumber(hi)] };
  }
  const every = Math.max(1, Math.ceil(decades / most));
  const within = (inner: number[]): number[] => {
    const found: number[] = [];
    for (let p = Math.floor(from); p <= Math.ceil(to); p++) {
      if (((p % every) + every) % every !== 0) continue;
      for (const m of inner) {
        const value = Number(`${m}e${p}`);
        if (value >= lo * (1 - 1e-9) && value <= hi * (1 + 1e-9)) found.push(value);
      }
    }
    return found;
  };
  // Labels of a logarithmic axis are short: a few more than elsewhere fit.
  const fine = every === 1 ? within([1, 2, 5]) : [];
  const at = fine.length > 0 && fine.length <= most + 3 ? fine : within([1]);
  return { at, labels: at.map((v) => (unit === 'duration' && v >= 1 ? duration(v) : powerLabel(v))) };
}

const powerLabel = (value: number): string =>
  value === 0 || (value >= 1e-3 && value < 1e4)
    ? shortNumber(value)
    : value >= 1e4 && value < 1e15
      ? labelsOf([value], value)[0]!
      : withMinus(value.toExponential(0).replace('e+', 'e'));

function symlogTicks(lo: number, hi: number, most: number): Ticks {
  const largest = Math.max(Math.abs(lo), Math.abs(hi));
  const top = Math.floor(Math.log10(largest));
  const sides = lo < 0 && hi > 0 ? 2 : 1;
  const each = Math.max(1, Math.floor((most - 1) / sides));
  const every = Math.max(1, Math.ceil(6 / each));
  const at: number[] = [0];
  for (let i = 0; i < each; i++) {
    const value = Number(`1e${top - i * every}`);
    at.push(value, -value);
  }
  const inside = at.filter((v) => v >= lo && v <= hi).sort((a, b) => a - b);
  if (inside.length < 2) return ticksOf(lo, hi, most, 'linear', 'number');
  return { at: inside, labels: inside.map((v) => (v < 0 ? `\u2212${powerLabel(-v)}` : powerLabel(v))) };
}

function timeTicks(lo: number, hi: number, most: number, unit: Unit): Ticks {
  const span = hi - lo;
  let step = DURATIONS.find((d) => span / d <= most) ?? 86400 * Math.ceil(span / 86400 / most);
  if (span / most < 0.5) step = stepWithin(span, most);
  // Whole days and hours are those of the reader's clock.
  const shift = unit === 'time' ? new Date(lo * 1000).getTimezoneOffset() * 60 : 0;
  const at: number[] = [];
  for (let i = Math.ceil((lo - shift) / step - 1e-9); i * step + shift <= hi + step * 1e-9; i++)
    at.push(tidy(i * step + shift, step));
  if (unit === 'duration') return { at, labels: at.map((v) => durationLabel(v, step)) };
  let day = '';
  const labels = at.map((v) => {
    const today = new Date(v * 1000).toDateString();
    const label = clock(v, step, today !== day);
    day = today;
    return label;
  });
  return { at, labels };
}

function clock(seconds: number, step: number, withDay: boolean): string {
  const d = new Date(seconds * 1000);
  const day = `${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  if (step >= 86400) return day;
  let time = `${two(d.getHours())}:${two(d.getMinutes())}`;
  if (step < 60)
    time += `:${step < 1 ? (d.getSeconds() + (seconds % 1)).toFixed(decimals(step)).padStart(decimals(step) + 3, '0') : two(d.getSeconds())}`;
  return withDay ? `${day} ${time}` : time;
}

/** A duration at a tick, with the decimals that ticks `step` seconds apart need. */
function durationLabel(seconds: number, step: number): string {
  if (seconds < 0) return `\u2212${durationLabel(-seconds, step)}`;
  if (seconds === 0) return '0';
  return seconds < 60 ? `${seconds.toFixed(decimals(step))} s` : inTwoParts(seconds);
}

/** About `count` round numbers within [lo, hi], two at least where there are two. */
export function roundTicks(lo: number, hi: number, count: number): number[] {
  if (!(hi > lo) || !Number.isFinite(hi - lo) || count < 1) return Number.isFinite(lo) ? [lo] : [];
  const found = multiplesWithin(lo, hi, roundStep((hi - lo) / count));
  return found.length > Math.min(2, count - 1)
    ? found
    : multiplesWithin(lo, hi, roundStep((hi - lo) / count / 2.1));
}

function multiplesWithin(lo: number, hi: number, step: number): number[] {
  const found: number[] = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9 && found.length <= 200; i++) {
    // of i and step, 0.1 * 3 is 0.30000000000000004
    found.push((step < 1 && step > 1e-9 ? i / Math.round(1 / step) : i * step) || 0);
  }
  return found;
}

/** The least of 1, 2 and 5 times a power of ten that is not below. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const times = [1, 2, 5].find((one) => one * power >= least * (1 - 1e-9)) ?? 10;
  return times * power;
}

export interface Tick {
  time: number;
  label: string;
}

/** Round times, in nanoseconds, at least `least` pixels apart, with labels that differ from each other. */
export function rulerTicks(t0: number, t1: number, width: number, least = 90): Tick[] {
  const span = t1 - t0;
  if (!(span > 0) || width <= 0) return [];
  const step = roundStep(Math.max(1, (span / width) * least));
  const ticks: Tick[] = [];
  for (let k = Math.ceil(t0 / step); k * step <= t1; k++) {
    ticks.push({ time: k * step, label: rulerLabel(k * step, step) });
  }
  return ticks;
}

function rulerLabel(time: number, step: number): string {
  if (time === 0) return '0';
  const [unit, size] = NANOSECOND_UNITS.find(([, s]) => Math.abs(time) >= s) ?? NANOSECOND_UNITS[3]!;
  const digits = Math.max(0, Math.round(Math.log10(size)) - Math.floor(Math.log10(step) + 1e-9));
  return `${(time / size).toFixed(digits)} ${unit}`;
}
