/** The names that a selection of the Graph page stands for: a node, a scope, or a series of scopes. */

/** Each member is a request of its own, so their number is limited. */
const MOST_MEMBERS = 256;

/**
 * Returns: nodes or scopes that contain the slices' nodes. A series is named by its pattern, as in
 * `tower/layer_[0-2,5]`, and stands for its members.
 */
export function nameSpans(node: string): string[] {
  const found = /\[(\d+(?:-\d+)?(?:,\s*\d+(?:-\d+)?)*)\]/.exec(node);
  if (!found) return [node];
  const before = node.slice(0, found.index);
  const after = node.slice(found.index + found[0].length);
  const spans: string[] = [];
  for (const part of found[1]!.split(',')) {
    const [first, last] = part.trim().split('-').map(Number);
    for (let i = first!; i <= (last ?? first!) && spans.length < MOST_MEMBERS; i++) {
      spans.push(`${before}${i}${after}`);
    }
  }
  return spans;
}

/** Whether a node is one of those that a selection stands for. */
export function belongs(node: string, selection: string): boolean {
  return nameSpans(selection).some((span) => node === span || node.startsWith(`${span}/`));
}
