/** A node of a placement: a row with its times, and on request all that is known of its choice. */
import { Icon } from '../../controls/icons.tsx';
import { markOfRatio, microseconds, ratioText } from '../../placement/figures.ts';
import type { PlacedNode } from '../../placement/placement_api.ts';
import { whyText } from '../../placement/reasons.ts';
import { safeText } from '../../strings/safe_text.ts';
import { memorySize } from '../../units/bytes.ts';
import { NODE_COLUMNS } from './node_order.ts';

/** The columns that a narrow table has too: as many as the cell of details spans. */
const SHOWN_ALWAYS = 4;

interface Props {
  node: PlacedNode;
  selected: boolean;
  open: boolean;
  toggle: () => void;
  showInGraph: (name: string) => void;
  showSlices: (name: string) => void;
}

export function NodeRow({ node, selected, open, toggle, showInGraph, showSlices }: Props) {
  const why = whyText(node);
  const name = safeText(node.node, 300);
  const earlier = node.measured_us !== null && !node.of_trace;
  return (
    <>
      <tr aria-current={selected || undefined}>
        <th scope="row">
          <div class="placement-node">
            <button
              type="button"
              class="placement-fold"
              aria-expanded={open}
              aria-label={`More about ${name}`}
              onClick={toggle}
            >
              <Icon name={open ? 'down' : 'right'} />
            </button>
            <button
              type="button"
              class="trace-link"
              title={`${name}: show in the graph`}
              onClick={() => showInGraph(node.graph_node || node.node)}
            >
              <bdi>{name}</bdi>
            </button>
          </div>
          <div class="placement-below faint">
            {safeText(node.title, 60)}: {why}
          </div>
        </th>
        <td class="op">{safeText(node.op, 60)}</td>
        <td class="device" title={`${safeText(node.device, 300)}${endsText(node)}`}>
          {safeText(node.title, 60)}
        </td>
        <td class="why" title={`${why}${endsText(node)}`}>
          {why}
        </td>
        <td>{microseconds(node.expected_us)}</td>
        <td
          class={earlier ? 'faint' : ''}
          title={earlier ? 'in earlier steps: this trace has no slice of it' : ''}
        >
          {microseconds(node.measured_us)}
        </td>
        <td class={markOfRatio(node.ratio)}>{ratioText(node.ratio)}</td>
        <td class="bytes">{memorySize(node.output_bytes)}</td>
      </tr>
      {open && (
        <tr class="placement-more">
          <td colSpan={SHOWN_ALWAYS}>
            <Choice node={node} why={why} earlier={earlier} />
            <div class="trace-buttons">
              <button type="button" onClick={() => showInGraph(node.graph_node || node.node)}>
                Show in graph
              </button>
              <button type="button" onClick={() => showSlices(node.graph_node || node.node)}>
                Its slices
              </button>
              {node.with && (
                <button type="button" onClick={() => showInGraph(node.with)}>
                  Show {safeText(node.with, 60)}
                </button>
              )}
            </div>
          </td>
          <td class="rest" colSpan={NODE_COLUMNS.length - SHOWN_ALWAYS} />
        </tr>
      )}
    </>
  );
}

function Choice({ node, why, earlier }: { node: PlacedNode; why: string; earlier: boolean }) {
  return (
    <dl class="placement-choice">
      <dt>Why</dt>
      <dd>{why}</dd>
      {node.estimates.length > 0 && (
        <>
          <dt>Estimated end</dt>
          <dd>
            <Ends node={node} />
          </dd>
        </>
      )}
      <dt>Op</dt>
      <dd>{safeText(node.op, 200)}</dd>
      <dt>Device</dt>
      <dd>{safeText(node.device, 300)}</dd>
      <dt>Starts</dt>
      <dd>after {microseconds(node.start_us)} of the expected step</dd>
      <dt>Outputs</dt>
      <dd>{memorySize(node.output_bytes)}</dd>
      {earlier && (
        <>
          <dt>Measured</dt>
          <dd>in earlier steps: this trace has no slice of it</dd>
        </>
      )}
    </dl>
  );
}

/** When the node would end on each device that it may have, as bars. */
function Ends({ node }: { node: PlacedNode }) {
  const last = Math.max(1e-9, ...node.estimates.map((one) => one.end_us ?? 0));
  return (
    <table class="trace-bars placement-ends">
      <tbody>
        {node.estimates.map((one) => (
          <tr key={one.device} aria-current={one.device === node.device || undefined}>
            <td class="trace-bar-name">
              <span class="trace-bar plain" style={{ width: `${(100 * (one.end_us ?? 0)) / last}%` }} />
              <span class="trace-name" title={safeText(one.device, 300)}>
                {safeText(one.title, 60)}
              </span>
            </td>
            <td>{microseconds(one.end_us)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function endsText(node: PlacedNode): string {
  if (!node.estimates.length) return '';
  const ends = node.estimates.map((one) => `${safeText(one.title, 60)} after ${microseconds(one.end_us)}`);
  return `\nwould end on ${ends.join(', on ')}`;
}
