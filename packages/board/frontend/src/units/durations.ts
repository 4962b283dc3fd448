/** Durations as the page writes them. */
import { shortNumber, withMinus } from './numbers.ts';

const PARTS: [seconds: number, name: string][] = [
  [86400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Of a longer duration, such as that of a broken clock, only the size is written. */
const MOST_S = 1e12;

/** A duration in the two units that matter: "1 h 30 min"; below a minute in seconds with five digits. */
export function duration(seconds: number): string {
  if (seconds < 0) return `\u2212${duration(-seconds)}`;
  if (seconds === 0) return '0';
  return seconds < 60 ? `${shortNumber(seconds)} s` : inTwoParts(seconds);
}

/** A duration with three significant digits below a minute: 250 ms, 3.25 s, 4 min 10 s. */
export function shortDuration(seconds: number): string {
  const size = Math.abs(seconds);
  if (!Number.isFinite(seconds)) return shortNumber(seconds);
  if (size >= 60) return `${seconds < 0 ? '\u2212' : ''}${inTwoParts(Math.round(size))}`;
  const [unit, name] =
    size >= 1 || size === 0
      ? [1, 's']
      : size >= 1e-3
        ? [1e-3, 'ms']
        : size >= 1e-6
          ? [1e-6, 'µs']
          : [1e-9, 'ns'];
  return `${withMinus(String(Number((seconds / unit).toPrecision(3))))} ${name}`;
}

/** As shortDuration, for costs that are logged in microseconds. */
export const microsecondsText = (us: number): string => shortDuration(us / 1e6);

/** How long ago something was, in one unit: "0.4 s", "15 s", "3 min", "2 h". */
export function age(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds >= MOST_S) return duration(seconds);
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** The position of a player: 0:03.2 or 1:02:07.0. */
export function playerTime(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '–';
  const tenths = Math.round(seconds * 10);
  const whole = Math.floor(tenths / 10);
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}.${tenths % 10}`;
}

/** At least a minute, rounded to the smaller of its two units; a full larger unit carries over. */
export function inTwoParts(seconds: number): string {
  if (!(seconds < MOST_S)) return `${shortNumber(seconds / 86400)} d`;
  const i = PARTS.findIndex(([size]) => seconds >= size);
  const [size, name] = PARTS[i]!;
  let whole = Math.floor(seconds / size + 1e-9);
  const [minor, minorName] = PARTS[i + 1]!;
  let rest = Math.round((seconds - whole * size) / minor);
  if (rest * minor === size) {
    whole++;
    rest = 0;
  }
  // 59 min 60 s is an hour.
  if (i > 0 && whole * size === PARTS[i - 1]![0]) return `1 ${PARTS[i - 1]![1]}`;
  return rest > 0 ? `${whole} ${name} ${rest} ${minorName}` : `${whole} ${name}`;
}
