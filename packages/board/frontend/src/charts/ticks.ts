/** Where axes have ticks and what stands at them. */

export interface Ticks {
  at: number[];
  labels: string[];
}

export type Scale = 'linear' | 'log' | 'symlog';
export type Unit = 'number' | 'step' | 'duration' | 'time';

const STEPS = [1, 2, 2.5, 5, 10];
const DURATIONS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The least round distance of ticks of which at most `most` fit into a span. */
export function roundStep(span: number, most: number, whole = false): number {
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
  const step = roundStep(hi - lo, most, unit === 'step');
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
    const [unit, suffix] = largest < 1e-3 ? [0, ''] : unitOf(largest);
    if (unit > 0) {
      const digits = decimals(step / unit);
      return at.map((v) => (v === 0 ? '0' : `${minus((v / unit).toFixed(digits))}${suffix}`));
    }
    return at.map((v) => (v === 0 ? '0' : minus(exponential(v, step))));
  }
  const digits = decimals(step);
  return at.map((v) => minus(v.toFixed(digits)));
}

function unitOf(largest: number): [number, string] {
  if (largest >= 1e15) return [0, ''];
  if (largest >= 1e12) return [1e12, 'T'];
  if (largest >= 1e9) return [1e9, 'G'];
  if (largest >= 1e6) return [1e6, 'M'];
  return [1e3, 'k'];
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

const minus = (text: string): string => text.replace(/^-/, '\u2212').replace('e-', 'e\u2212');

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
      : minus(value.toExponential(0).replace('e+', 'e'));

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
  if (span / most < 0.5) step = roundStep(span, most);
  // Whole days and hours are those of the reader's clock.
  const shift = unit === 'time' ? new Date(lo * 1000).getTimezoneOffset() * 60 : 0;
  const at: number[] = [];
  for (let i = Math.ceil((lo - shift) / step - 1e-9); i * step + shift <= hi + step * 1e-9; i++)
    at.push(tidy(i * step + shift, step));
  if (unit === 'duration') return { at, labels: at.map((v) => duration(v, step)) };
  let day = '';
  const labels = at.map((v) => {
    const today = new Date(v * 1000).toDateString();
    const label = clock(v, step, today !== day);
    day = today;
    return label;
  });
  return { at, labels };
}

const two = (n: number): string => String(n).padStart(2, '0');

function clock(seconds: number, step: number, withDay: boolean): string {
  const d = new Date(seconds * 1000);
  const day = `${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  if (step >= 86400) return day;
  let time = `${two(d.getHours())}:${two(d.getMinutes())}`;
  if (step < 60)
    time += `:${step < 1 ? (d.getSeconds() + (seconds % 1)).toFixed(decimals(step)).padStart(decimals(step) + 3, '0') : two(d.getSeconds())}`;
  return withDay ? `${day} ${time}` : time;
}

/** A moment on the reader's clock, with its zone: "2026-11-21 15:04:05.25 GMT+1". */
export function moment(seconds: number): string {
  const d = new Date(seconds * 1000);
  if (Number.isNaN(d.getTime())) return String(seconds);
  const day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  const part =
    d.getMilliseconds() > 0 ? `.${String(d.getMilliseconds()).padStart(3, '0')}`.replace(/0+$/, '') : '';
  const zone = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
    .formatToParts(d)
    .find((one) => one.type === 'timeZoneName')!.value;
  return `${day} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}${part} ${zone}`;
}

/** Seconds in the two units that matter: "1 h 30 min". */
export function duration(seconds: number, step = 0): string {
  if (seconds < 0) return `\u2212${duration(-seconds, step)}`;
  if (seconds === 0) return '0';
  if (seconds < 60) return `${step > 0 ? seconds.toFixed(decimals(step)) : shortNumber(seconds)} s`;
  const units: [number, string][] = [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const i = units.findIndex(([size]) => seconds >= size);
  const [size, name] = units[i]!;
  let whole = Math.floor(seconds / size + 1e-9);
  const [minor, minorName] = units[i + 1]!;
  let rest = Math.round((seconds - whole * size) / minor);
  if (rest * minor === size) {
    whole++;
    rest = 0;
  }
  // 59 min 60 s is an hour.
  if (i > 0 && whole * size === units[i - 1]![0]) return `1 ${units[i - 1]![1]}`;
  return rest > 0 ? `${whole} ${name} ${rest} ${minorName}` : `${whole} ${name}`;
}

/** A number in at most `digits` significant digits, never longer than it need be. */
export function shortNumber(value: number, digits = 5): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '\u2212Inf';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return minus(String(value));
  if (size >= 10 ** digits && size < 1e7) return minus(value.toFixed(0));
  const text = size >= 1e7 || size < 1e-4 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const trimmed = text.includes('.') ? text.replace(/0+(e|$)/, '$1').replace(/\.(e|$)/, '$1') : text;
  return minus(trimmed.replace('e+', 'e'));
}
