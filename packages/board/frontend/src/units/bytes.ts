/** Sizes in bytes as the page writes them. */

/** The size of files, in powers of 1000: 12 B, 1.5 KB, 3.2 MB, 120 GB. */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [size, unit] = scaled(bytes, 1000, 999.5, ['KB', 'MB', 'GB', 'TB']);
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}

/** The size of memory and tensors, in powers of 1024 and three significant digits: 12 B, 8 KiB, 1.95 MiB. */
export function memorySize(bytes: number): string {
  if (Math.abs(bytes) < 1024) return `${Math.round(bytes)} B`;
  const [size, unit] = scaled(bytes, 1024, 1023.5, ['KiB', 'MiB', 'GiB', 'TiB']);
  return `${Math.abs(size) >= 100 ? Math.round(size) : Number(size.toPrecision(3))} ${unit}`;
}

/** Divides by `base` until the size is below `most`, or the last unit is reached. */
function scaled(bytes: number, base: number, most: number, units: string[]): [size: number, unit: string] {
  let size = bytes / base;
  let at = 0;
  while (Math.abs(size) >= most && at < units.length - 1) {
    size /= base;
    at++;
  }
  return [size, units[at]!];
}
