/** Ticks of the time ruler, and times as people read them. */

export interface Tick {
  time: number;
  label: string;
}

const UNITS: [string, number][] = [
  ['s', 1e9],
  ['ms', 1e6],
  ['µs', 1e3],
  ['ns', 1],
];

/** Round times of a window, at least `least` pixels apart, with labels that differ from each other. */
export function rulerTicks(t0: number, t1: number, width: number, least = 90): Tick[] {
  const span = t1 - t0;
  if (!(span > 0) || width <= 0) return [];
  const step = roundStep((span / width) * least);
  const ticks: Tick[] = [];
  const first = Math.ceil(t0 / step);
  for (let k = first; k * step <= t1; k++) ticks.push({ time: k * step, label: tickLabel(k * step, step) });
  return ticks;
}

/** The least of 1, 2 and 5 times a power of ten that is not below; never below a nanosecond. */
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const times of [1, 2, 5, 10]) {
    if (times * power >= least * (1 - 1e-9)) return times * power;
  }
  return 10 * power;
}

function tickLabel(time: number, step: number): string {
  if (time === 0) return '0';
  const [unit, size] = UNITS.find(([, s]) => Math.abs(time) >= s) ?? UNITS[3]!;
  const decimals = Math.max(0, Math.round(Math.log10(size)) - Math.floor(Math.log10(step) + 1e-9));
  return `${(time / size).toFixed(decimals)} ${unit}`;
}

/** A duration with three digits that count: 1.24 ms, 812 ns, 4.02 s. */
export function durationText(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1) return '0 ns';
  const [unit, scale] = UNITS.find(([, s]) => size >= s * 0.9995) ?? UNITS[3]!;
  const value = ns / scale;
  if (unit === 'ns') return `${Math.round(value)} ns`;
  const digits = Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** A moment, with as many digits as a window of that span tells apart: 205.4127 ms. */
export function timeText(ns: number, span: number): string {
  const [unit, size] = UNITS.find(([, s]) => Math.abs(ns) >= s) ?? UNITS[3]!;
  const grain = Math.max(1, span / 1000);
  const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / grain) - 1e-9)));
  return `${(ns / size).toFixed(decimals)} ${unit}`;
}

/** A time with all its nanoseconds, in groups of three: 1 234 567 ns. */
export function exactText(ns: number): string {
  return `${groups(Math.round(ns))} ns`;
}

export function groups(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ' ');
}

export function bytesText(bytes: number): string {
  if (Math.abs(bytes) < 1024) return `${Math.round(bytes)} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes / 1024;
  let i = 0;
  while (Math.abs(value) >= 1023.95 && i < units.length - 1) {
    value /= 1024;
    i++;
  }
  return `${value.toFixed(Math.abs(value) >= 99.95 ? 0 : 1)} ${units[i]}`;
}

export function percentText(share: number): string {
  const percent = 100 * share;
  return `${percent >= 9.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)} %`;
}
