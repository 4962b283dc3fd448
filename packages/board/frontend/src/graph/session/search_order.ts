/** The order of search results: the exact name, then names that end with the pattern, then shorter ones. */

export type NameTest = (name: string) => number;

const EXACT = 0;
const LAST_PARTS = 1;
const END = 2;
const ANYWHERE = 3;

/** Returns a function for how well a name matches a pattern; smaller is better, -1 if it does not match. */
export function nameTest(pattern: string): NameTest {
  const anywhere = new RegExp(pattern, 'i');
  const whole = new RegExp(`^(?:${pattern})$`, 'i');
  const lastParts = new RegExp(`/(?:${pattern})$`, 'i');
  const end = new RegExp(`(?:${pattern})$`, 'i');
  return (name) => {
    if (!anywhere.test(name)) return -1;
    if (whole.test(name)) return EXACT;
    if (lastParts.test(name)) return LAST_PARTS;
    return end.test(name) ? END : ANYWHERE;
  };
}

export interface Matches {
  found: number[];
  /** The number of all, of which `found` has the best. */
  count: number;
}

/**
 * Returns the best matches, and how many there are.
 *
 * Args:
 *   first: the index that counts as the first where names match equally well.
 *   beforeName: is called before each name.
 */
export function bestMatches(
  names: readonly string[],
  pattern: string,
  first: number,
  most: number,
  beforeName: () => void = () => {},
): Matches {
  const test = nameTest(pattern);
  const ranks: number[] = [];
  const found: number[] = [];
  for (let i = 0; i < names.length; i++) {
    const v = (i + first) % names.length;
    if (names[v] === '') continue;
    beforeName();
    const rank = test(names[v]!);
    if (rank < 0) continue;
    found.push(v);
    ranks.push(rank);
  }
  const order = found.map((_, i) => i);
  order.sort((a, b) => ranks[a]! - ranks[b]! || names[found[a]!]!.length - names[found[b]!]!.length || a - b);
  return { found: order.slice(0, most).map((i) => found[i]!), count: found.length };
}
