/** The node that is selected, where it is not the node of one slice, and the way to it on the Graph page. */
import { useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { showGraphOfRun } from '../../graph/session/graph_list.ts';
import { selectedNode } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count, counted } from '../../units/numbers.ts';
import { chosenRun, markedOf, nodeOf, selectedSlice } from '../state/trace_state.ts';

/** The selected scope, series or untraced node; nothing where the selection is the slice's own node. */
export function SelectedNode() {
  const found = markedOf.value;
  const slice = selectedSlice.value;
  if (!found || found.node !== selectedNode.value) return null;
  if (slice && nodeOf(slice) === found.node) return null;
  const name = <span class="trace-node">{safeText(found.node)}</span>;
  if (found.failure !== null) {
    return (
      <section role="alert">
        <p>
          The slices of {name} could not be read: {found.failure}
        </p>
      </section>
    );
  }
  if (found.total === 0) {
    return (
      <section role="status">
        <p>This step has no slice of {name}.</p>
        <p class="faint">
          It did not run in this step, ran as a part of another node, or the trace is of another graph.
        </p>
        <div class="trace-buttons">
          <InGraph node={found.node} />
        </div>
      </section>
    );
  }
  return (
    <section role="status">
      <p>
        {counted(found.total, 'slice')} of {name}
        {found.places < found.total && `; the first ${count(found.places)} are marked`}. Below is one of them.
      </p>
    </section>
  );
}

/** A button that shows a node in the graph of the traced run. */
export function InGraph({ node }: { node: string }) {
  const [failure, setFailure] = useState('');
  const run = chosenRun.value;
  return (
    <>
      <button
        type="button"
        onClick={() => {
          if (run === null) return;
          showGraphOfRun(run, node).catch((error: unknown) => setFailure(messageOf(error)));
        }}
      >
        Show in graph
      </button>
      {failure && <span class="faint">{failure}</span>}
    </>
  );
}
