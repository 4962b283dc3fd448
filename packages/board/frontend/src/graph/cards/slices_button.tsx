/** A button that shows the slices of an item on the Trace page, in the run of its graph. */
import { runById } from '../../state/catalogue.ts';
import { showSlicesOfNode } from '../../state/trace_link.ts';
import type { Session } from '../session/session.ts';

export function SlicesButton({ session, item }: { session: Session; item: number }) {
  // A graph that was uploaded as a file belongs to no run.
  const run = session.entry.run === null ? undefined : runById.value.get(session.entry.run);
  return (
    <button
      type="button"
      class="g-wide"
      onClick={() => showSlicesOfNode(run?.name ?? null, session.nameOfItem(item))}
    >
      Its slices on the Trace page
    </button>
  );
}
