/** Finds labels that contain a text. */

/** Returns: indices of values with this text, in any case. An empty text is in none. */
export function withText(values: string[], text: string): number[] {
  if (text === '') return [];
  const found: number[] = [];
  const lower = text.toLowerCase();
  for (let i = 0; i < values.length; i++) if (values[i]!.toLowerCase().includes(lower)) found.push(i);
  return found;
}
