/** Names for the traces of a run that are the same after a restart of the server. */

/** By id of a trace: its step, with its tag and a number where the step is ambiguous; the title of a trace file. */
export function traceKeys(
  rows: readonly { id: number; step: number | null; tag: string }[],
): Map<number, string> {
  const steps = new Map<number | null, number>();
  const turns = new Map<string, number>();
  for (const { step } of rows) steps.set(step, (steps.get(step) ?? 0) + 1);
  const keys = new Map<number, string>();
  for (const { id, step, tag } of rows) {
    if (step === null) {
      keys.set(id, tag);
      continue;
    }
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
