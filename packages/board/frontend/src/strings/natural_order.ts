/** Orders names as people do: run_2 before run_10. */

const collator = new Intl.Collator('en', { numeric: true });

export const naturally = (a: string, b: string): number =>
  collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);

/** The items in natural order of their names. */
export function inOrder<T extends { name: string }>(items: Iterable<T>): T[] {
  return [...items].sort((a, b) => naturally(a.name, b.name));
}
