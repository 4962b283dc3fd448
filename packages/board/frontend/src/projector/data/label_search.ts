/** Which labels hold a text, or match a pattern. */

/** Indices of the values; throws for a pattern that is none. An empty query finds nothing. */
export function matching(values: string[], query: string, pattern: boolean): number[] {
  if (query === '') return [];
  const found: number[] = [];
  if (pattern) {
    const test = new RegExp(query, 'i');
    for (let i = 0; i < values.length; i++) if (test.test(values[i]!)) found.push(i);
  } else {
    const lower = query.toLowerCase();
    for (let i = 0; i < values.length; i++) if (values[i]!.toLowerCase().includes(lower)) found.push(i);
  }
  return found;
}
