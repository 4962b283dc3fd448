/** Slices and areas in the address, where traces are named by their position on the page. */

/** `section.slice`, or null if its trace is not shown. */
export function textOfSlice(shown: number[], at: { trace: number; slice: number }): string | null {
  const section = shown.indexOf(at.trace);
  return section < 0 ? null : `${section}.${at.slice}`;
}

/** `section.t0~t1`; with tracks `section.t0~t1.0,1`. */
export function textOfArea(
  shown: number[],
  { trace, t0, t1, lanes }: { trace: number; t0: number; t1: number; lanes: number[] | null },
): string | null {
  const section = shown.indexOf(trace);
  if (section < 0) return null;
  return `${section}.${Math.round(t0)}~${Math.round(t1)}${lanes ? `.${lanes.join(',')}` : ''}`;
}

export function parseSlice(text: string, shown: number[]): { trace: number; slice: number } | null {
  const found = /^(\d+)\.(\d+)$/.exec(text);
  const trace = found ? shown[Number(found[1])] : undefined;
  return trace === undefined ? null : { trace, slice: Number(found![2]) };
}

export function parseArea(
  text: string,
  shown: number[],
): { trace: number; t0: number; t1: number; lanes: number[] | null } | null {
  const found = /^(\d+)\.(\d+)~(\d+)(?:\.(\d+(?:,\d+)*))?$/.exec(text);
  const trace = found ? shown[Number(found[1])] : undefined;
  if (trace === undefined) return null;
  const [t0, t1] = [Number(found![2]), Number(found![3])];
  const lanes = found![4] === undefined ? null : found![4].split(',').map(Number);
  return t1 > t0 ? { trace, t0, t1, lanes } : null;
}
