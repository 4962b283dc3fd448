/** Numbers as the projector's panels say them. */

export const count = (n: number): string => n.toLocaleString('en');

export function short(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}
