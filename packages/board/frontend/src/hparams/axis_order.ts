/** The order of columns, which people change by dragging. */

/** Those that the order names, as it has them; then the others. */
export function inOrder<T extends { id: string }>(columns: T[], order: string[]): T[] {
  const named = order.flatMap((id) => columns.find((column) => column.id === id) ?? []);
  const rest = columns.filter((column) => !order.includes(column.id));
  return [...named, ...rest];
}

/** The order after one column went to a place among those shown. */
export function moved(shown: string[], id: string, place: number): string[] {
  const rest = shown.filter((one) => one !== id);
  const at = Math.max(0, Math.min(rest.length, place));
  return [...rest.slice(0, at), id, ...rest.slice(at)];
}
