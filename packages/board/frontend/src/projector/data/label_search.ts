/** Finds labels that contain a text or match a pattern. */

/** Returns: indices of matching values. An empty query matches none. Throws for an invalid pattern. */
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
