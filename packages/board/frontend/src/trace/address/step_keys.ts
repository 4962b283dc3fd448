/** Names for the traces of a run that stay the same when the server starts again. */

/** By id of trace: its step; with its tag, and a number, where that alone is not one trace. */
export function traceKeys(rows: readonly { id: number; step: number; tag: string }[]): Map<number, string> {
  const steps = new Map<number, number>();
  const turns = new Map<string, number>();
  for (const { step } of rows) steps.set(step, (steps.get(step) ?? 0) + 1);
  const keys = new Map<number, string>();
  for (const { id, step, tag } of rows) {
    if (steps.get(step) === 1) {
      keys.set(id, String(step));
      continue;
    }
    const both = `${step} ${tag}`;
    const turn = (turns.get(both) ?? 0) + 1;
    turns.set(both, turn);
    keys.set(id, turn === 1 ? both : `${both} ${turn}`);
  }
  return keys;
}
