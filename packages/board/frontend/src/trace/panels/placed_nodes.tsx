/** The nodes of a placement: a part of them at a time, sorted and filtered by the server. */
import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { useResponse } from '../../api/use_response.ts';
import { fetchNodes, type PlacedNode, type PlacementSummary } from '../../placement/placement_api.ts';
import { selectedNode } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import { placementDevice, placementFind, placementOrder } from '../address/address_fields.ts';
import { knownOrder, NODE_COLUMNS, nextOrder, sortOf } from '../placement/node_order.ts';
import { NodeRow } from '../placement/node_row.tsx';
import { selectNode, showInGraph } from '../state/trace_selection.ts';
import { TabFailure } from './loading.tsx';

const ROWS = 100;

export function PlacedNodes({ trace, placement }: { trace: number; placement: PlacementSummary }) {
  const [from, setFrom] = useState(0);
  const [tries, setTries] = useState(0);
  const device = placement.devices.find((one) => one.name === placementDevice.value);
  const order = knownOrder(placementOrder.value);
  const find = placementFind.value.trim();
  const chosen = `${trace} ${order} ${device?.id} ${find}`;
  useEffect(() => setFrom(0), [chosen]);
  const { response, failure } = useResponse<{ n: number; from: number; nodes: PlacedNode[] } | null>(
    (signal) => fetchNodes(trace, { order, find, device: device?.id ?? null, from, count: ROWS }, signal),
    null,
    [chosen, from, tries],
  );
  return (
    <section>
      <h3>
        Nodes <span class="faint">{response && shares(response.n, placement.nodes)}</span>
      </h3>
      <div class="placement-tools">
        <input
          type="search"
          aria-label="Find nodes by name or op"
          placeholder="Find node or op"
          value={placementFind.value}
          onInput={(event) => {
            placementFind.value = event.currentTarget.value;
          }}
        />
        {device && (
          <button
            type="button"
            title="Show the nodes of all devices"
            onClick={() => {
              placementDevice.value = '';
            }}
          >
            on {safeText(device.title, 60)} ×
          </button>
        )}
      </div>
      {failure !== null && <TabFailure retry={() => setTries(tries + 1)}>{failure}</TabFailure>}
      {failure === null && response && <NodeTable nodes={response.nodes} order={order} />}
      {failure === null && response?.n === 0 && <p class="faint">No node matches.</p>}
      {response && <Pager n={response.n} from={response.from} go={setFrom} />}
    </section>
  );
}

function shares(n: number, all: number): string {
  return n === all ? count(all) : `${count(n)} of ${count(all)}`;
}

function NodeTable({ nodes, order }: { nodes: PlacedNode[]; order: string }) {
  const [open, setOpen] = useState<string | null>(null);
  const [message, setMessage] = useState('');
  const toGraph = (name: string) => {
    showInGraph(name).catch((error: unknown) => setMessage(messageOf(error)));
  };
  return (
    <>
      {message && (
        <p class="faint" role="alert">
          {message}
        </p>
      )}
      <table class="placement-nodes">
        <thead>
          <tr>
            {NODE_COLUMNS.map((column) => {
              const sort = sortOf(order, column);
              return (
                <th scope="col" key={column.key} class={column.key} aria-sort={sort}>
                  <button
                    type="button"
                    title={column.hint}
                    onClick={() => {
                      placementOrder.value = nextOrder(placementOrder.peek(), column);
                    }}
                  >
                    {column.title}
                    <span aria-hidden="true">{{ ascending: ' ▴', descending: ' ▾', none: '' }[sort]}</span>
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {nodes.map((node, i) => (
            <NodeRow
              key={`${i} ${node.node}`}
              node={node}
              selected={selectedNode.value !== '' && selectedNode.value === (node.graph_node || node.node)}
              open={open === node.node}
              toggle={() => setOpen(open === node.node ? null : node.node)}
              showInGraph={toGraph}
              showSlices={selectNode}
            />
          ))}
        </tbody>
      </table>
    </>
  );
}

function Pager({ n, from, go }: { n: number; from: number; go: (from: number) => void }) {
  if (n <= ROWS) return null;
  const last = Math.min(n, from + ROWS);
  return (
    <div class="placement-pager">
      <button
        type="button"
        class="trace-step"
        aria-label="Nodes before"
        disabled={from === 0}
        onClick={() => go(Math.max(0, from - ROWS))}
      >
        ‹
      </button>
      <span class="faint" role="status">
        {count(Math.min(n, from + 1))} to {count(last)} of {count(n)}
      </span>
      <button
        type="button"
        class="trace-step"
        aria-label="Nodes after"
        disabled={last >= n}
        onClick={() => go(from + ROWS)}
      >
        ›
      </button>
    </div>
  );
}
