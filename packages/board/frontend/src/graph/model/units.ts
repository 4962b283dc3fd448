/** Times and sizes in words. */

export function duration(microseconds: number): string {
  if (microseconds >= 1e6) return `${Number((microseconds / 1e6).toPrecision(3))} s`;
  if (microseconds >= 1e3) return `${Number((microseconds / 1e3).toPrecision(3))} ms`;
  return `${Number(microseconds.toPrecision(3))} µs`;
}

export function megabytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}

export function count(n: number): string {
  return n.toLocaleString('en-US');
}
