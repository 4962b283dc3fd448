/** Which commands the letters typed into the palette mean. */

/** How well a text fits what was typed: higher is better, 0 is not at all. */
export function fitness(text: string, typed: string): number {
  if (typed === '') return 1;
  const lower = text.toLowerCase();
  const whole = lower.indexOf(typed);
  if (whole >= 0) {
    const begins = whole === 0 || /[\W_]/.test(lower[whole - 1]!) ? 500 : 0;
    const ends = whole + typed.length === lower.length ? 300 : 0;
    return 1000 + begins + ends - (whole + lower.length) / 100;
  }
  let at = -1;
  let gaps = 0;
  for (const letter of typed) {
    const next = lower.indexOf(letter, at + 1);
    if (next < 0) return 0;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return Math.max(1, 400 - gaps * 4 - lower.length / 100);
}
