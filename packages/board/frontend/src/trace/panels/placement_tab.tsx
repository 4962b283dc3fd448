/** The Placement tab: where each node of the step runs, why, and expected against measured times. */
import { useState } from 'preact/hooks';
import { useResponse } from '../../api/use_response.ts';
import { fetchPlacement, type PlacementSummary } from '../../placement/placement_api.ts';
import { receivesText, stepText } from '../../placement/summary_text.ts';
import { DeviceTable } from '../placement/device_table.tsx';
import { TransferTable } from '../placement/transfer_table.tsx';
import { mainTrace } from '../state/trace_state.ts';
import { TabFailure } from './loading.tsx';
import { PlacedNodes } from './placed_nodes.tsx';

type Reply = { trace: number; placement: PlacementSummary | null } | null;

export function PlacementTab() {
  const trace = mainTrace.value?.id;
  const [tries, setTries] = useState(0);
  const { response, failure } = useResponse<Reply>(
    trace === undefined
      ? null
      : async (signal) => ({ trace, placement: await fetchPlacement(trace, signal) }),
    null,
    [trace, tries],
  );
  if (failure !== null) return <TabFailure retry={() => setTries(tries + 1)}>{failure}</TabFailure>;
  if (trace === undefined || response?.trace !== trace) {
    return (
      <p class={response?.placement ? 'placement faint' : 'faint'} role="status" aria-busy="true">
        Reading the placement…
      </p>
    );
  }
  const { placement } = response;
  if (!placement) return <NoPlacement />;
  return (
    <div class="placement">
      <section>
        <h3>The step</h3>
        <p>{stepText(placement)}</p>
        {placement.receives && <p>{receivesText(placement.receives)}</p>}
      </section>
      <div class="placement-tables">
        <DeviceTable placement={placement} />
        <TransferTable placement={placement} />
      </div>
      <PlacedNodes trace={trace} placement={placement} />
    </div>
  );
}

function NoPlacement() {
  return (
    <section>
      <p>This trace has no placement.</p>
      <p class="faint">
        A step has one if there are several devices: in a session with a GPU or several CPU devices, or on a
        cluster, run with RunOptions(trace_level=FULL_TRACE).
      </p>
    </section>
  );
}
