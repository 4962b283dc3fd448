/** The way to the Trace page: to what an item did in the steps of its own run. */
import { runById } from '../../state/catalogue.ts';
import { selectedNode } from '../../state/selection.ts';
import { goTo } from '../../state/url_state.ts';
import { traceRun } from '../../trace/trace_address.ts';
import type { Session } from '../session.ts';

export function SlicesButton({ session, item }: { session: Session; item: number }) {
  const run = session.entry.run === null ? undefined : runById.value.get(session.entry.run);
  const go = () => {
    goTo('trace');
    // A file is of no run: the Trace page keeps to the run that it shows.
    if (run) traceRun.value = run.name;
    selectedNode.value = session.nameOfItem(item);
  };
  return (
    <button type="button" class="g-wide" onClick={go}>
      Its slices on the Trace page
    </button>
  );
}
