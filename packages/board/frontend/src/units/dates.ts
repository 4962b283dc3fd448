/** Wall times, in seconds since 1970, as the page writes them: in the time zone of the reader. */

import { shortNumber } from './numbers.ts';

/** Two digits at least. */
export const two = (n: number): string => String(n).padStart(2, '0');

/** 2026-11-21 */
export function localDay(seconds: number): string {
  const date = new Date(seconds * 1000);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** 2026-11-21 10:04:05; the number itself where it is not a time. */
export function wallTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return shortNumber(seconds);
  return `${localDay(seconds)} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** With milliseconds and the time zone: "2026-11-21 15:04:05.25 GMT+1". */
export function exactWallTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return shortNumber(seconds);
  const ms = date.getMilliseconds();
  const fraction = ms > 0 ? `.${String(ms).padStart(3, '0')}`.replace(/0+$/, '') : '';
  const zone = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
    .formatToParts(date)
    .find((part) => part.type === 'timeZoneName')!.value;
  return `${wallTime(seconds)}${fraction} ${zone}`;
}

/** As people write it: 21/11/2026, 10:04:05. */
export function localDate(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? shortNumber(seconds) : date.toLocaleString('en-GB');
}
