/** Saves a file to the reader's downloads. */

export function download(name: string, content: Blob | string, type = 'text/plain'): void {
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A file name that is valid on every file system. */
export function fileName(name: string): string {
  const extension = /\.[a-z0-9]+$/.exec(name)?.[0] ?? '';
  const stem = name.slice(0, name.length - extension.length).replace(/[^\p{L}\p{N}._-]+/gu, '_');
  return (stem.replace(/^[._]+|_+$/g, '').slice(0, 100) || 'board') + extension;
}

export function downloadCanvas(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => blob && download(name, blob), 'image/png');
}

/** A cell of a CSV file; text that a spreadsheet would take for a formula is quoted. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
