/** Orders names as people do: run_2 before run_10. */

const collator = new Intl.Collator('en', { numeric: true });

/**
 * The order of ASCII letters, digits and the signs of names in the collator's order, from 1; 0: not such a
 * character. Letters of either case are alike at first. The collator takes ten times as long, which a log of
 * 100,000 tags makes a second.
 */
const SIGNS = '_-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';
const weights = new Uint8Array(128);
[' ', ...SIGNS].forEach((sign, i) => {
  weights[sign.charCodeAt(0)] = i + 1;
});
const DIGIT = SIGNS.length + 2;
for (let i = 0; i < 10; i++) weights[48 + i] = DIGIT + i;
for (let i = 0; i < 26; i++) weights[65 + i] = weights[97 + i] = DIGIT + 10 + i;

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/** The end of a run of digits. */
function endOfDigits(text: string, from: number): number {
  let end = from;
  while (end < text.length && isDigit(text.charCodeAt(end))) end++;
  return end;
}

/** What the collator gives for two names of known characters; NaN: it must be asked. */
function compareKnown(a: string, b: string): number {
  let i = 0;
  let j = 0;
  // The first difference of case decides between names that are otherwise alike: lower case is first.
  let byCase = 0;
  while (i < a.length && j < b.length) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(j);
    if (isDigit(x) && isDigit(y)) {
      while (a.charCodeAt(i) === 48) i++;
      while (b.charCodeAt(j) === 48) j++;
      const endA = endOfDigits(a, i);
      const endB = endOfDigits(b, j);
      if (endA - i !== endB - j) return rest(a, endA) && rest(b, endB) ? endA - i - (endB - j) : Number.NaN;
      for (; i < endA; i++, j++) {
        const difference = a.charCodeAt(i) - b.charCodeAt(j);
        if (difference) return rest(a, i) && rest(b, j) ? difference : Number.NaN;
      }
      continue;
    }
    const v = x < 128 ? weights[x]! : 0;
    const w = y < 128 ? weights[y]! : 0;
    if (v === 0 || w === 0) return Number.NaN;
    // What follows a letter may be an accent on it.
    if (v !== w) return rest(a, i + 1) && rest(b, j + 1) ? v - w : Number.NaN;
    if (byCase === 0) byCase = y - x;
    i++;
    j++;
  }
  if (!rest(a, i) || !rest(b, j)) return Number.NaN;
  return a.length - i - (b.length - j) || byCase;
}

/** Whether the next character is known, or there is none. */
function rest(text: string, at: number): boolean {
  if (at >= text.length) return true;
  const code = text.charCodeAt(at);
  return code < 128 && weights[code] !== 0;
}

export const naturally = (a: string, b: string): number => {
  const known = compareKnown(a, b);
  return (Number.isNaN(known) ? collator.compare(a, b) : known) || (a < b ? -1 : a > b ? 1 : 0);
};

/** The items in natural order of their names. */
export function inOrder<T extends { name: string }>(items: Iterable<T>): T[] {
  return [...items].sort((a, b) => naturally(a.name, b.name));
}
