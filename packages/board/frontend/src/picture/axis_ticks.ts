/** Round numbers along an axis, and short words for them. */

/** About `wanted` round numbers within [lo, hi], two at least. */
export function ticks(lo: number, hi: number, wanted: number): number[] {
  if (!(hi > lo) || !Number.isFinite(hi - lo) || wanted < 1) return Number.isFinite(lo) ? [lo] : [];
  const found = within(lo, hi, roundStep((hi - lo) / wanted));
  return found.length > Math.min(2, wanted - 1) ? found : within(lo, hi, roundStep((hi - lo) / wanted / 2.1));
}

function within(lo: number, hi: number, step: number): number[] {
  const out: number[] = [];
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++) {
    // of i and step, 0.1 * 3 is 0.30000000000000004
    out.push((step < 1 && step > 1e-9 ? i / Math.round(1 / step) : i * step) || 0);
    if (out.length > 200) break;
  }
  return out;
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return power * (lead <= 1 + 1e-9 ? 1 : lead <= 2 + 1e-9 ? 2 : lead <= 5 + 1e-9 ? 5 : 10);
}

/** A number as short as an axis needs it: 1.2k, 3M, 2.5e-7. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞';
  if (size === 0) return '0';
  let text: string;
  if (size >= 1e15 || size < 1e-4) text = trimmed(value.toExponential(2));
  else if (size >= 1e9) text = `${trimmed((value / 1e9).toFixed(2))}G`;
  else if (size >= 1e6) text = `${trimmed((value / 1e6).toFixed(2))}M`;
  else if (size >= 1e4) text = `${trimmed((value / 1e3).toFixed(2))}k`;
  else text = String(Number(value.toPrecision(4)));
  return text.replace(/-/g, '−');
}

function trimmed(text: string): string {
  return text.replace(/(\.\d*?)0+(?=e|$)/, '$1').replace(/\.(?=e|$)/, '');
}

/** Seconds as a person says them: 3.2 s, 4 min 10 s, 5 h 3 min, 2 d 4 h. */
export function shortDuration(seconds: number): string {
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? '−' : '';
  if (!Number.isFinite(seconds)) return String(seconds);
  if (size < 1) return `${sign}${Number((size * 1000).toPrecision(3))} ms`;
  if (size < 60) return `${sign}${Number(size.toPrecision(3))} s`;
  const whole = Math.round(size);
  const two = (big: number, bigName: string, small: number, smallName: string) => {
    const a = Math.floor(whole / big);
    const b = Math.floor((whole % big) / small);
    return `${sign}${a} ${bigName}${b ? ` ${b} ${smallName}` : ''}`;
  };
  if (whole < 3600) return two(60, 'min', 1, 's');
  return whole < 86400 ? two(3600, 'h', 60, 'min') : two(86400, 'd', 3600, 'h');
}

/** A wall time in the zone of the reader: 2026-11-21 10:04:05. */
export function wallTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (!Number.isFinite(date.getTime())) return String(seconds);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
