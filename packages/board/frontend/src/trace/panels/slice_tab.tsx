/** The Slice tab: everything that the trace has about the selected slice. */

import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { safeText } from '../../strings/safe_text.ts';
import { memorySize } from '../../units/bytes.ts';
import { exactNanoseconds, nanosecondsText } from '../../units/nanoseconds.ts';
import { fetchSlice, type SliceDetails } from '../data/trace_api.ts';
import { goToSlice } from '../state/trace_selection.ts';
import { mainTrace, nodeOf, selectedSlice } from '../state/trace_state.ts';
import { TabFailure } from './loading.tsx';
import { OtherSteps } from './other_steps.tsx';
import { InGraph, SelectedNode } from './selected_node.tsx';

export function SliceTab() {
  const at = selectedSlice.value;
  const [reply, setReply] = useState<{ key: string; details: SliceDetails | null; failure: string }>({
    key: '',
    details: null,
    failure: '',
  });
  const [tries, setTries] = useState(0);
  const key = at ? `${at.trace} ${at.slice}` : '';
  useEffect(() => {
    if (!at) return;
    let here = true;
    // The selection often holds all details already.
    const known = 'outputs' in at ? Promise.resolve(at as unknown as SliceDetails) : null;
    (known ?? fetchSlice(at.trace, at.slice))
      .then((details) => here && setReply({ key, details, failure: '' }))
      .catch((error: unknown) => {
        const failure = messageOf(error);
        if (here) setReply({ key, details: null, failure });
      });
    return () => {
      here = false;
    };
  }, [key, tries]);
  if (!at) return <SelectedNode />;
  if (reply.key === key && reply.failure) {
    const message = `The slice could not be read: ${reply.failure}`;
    return <TabFailure retry={() => setTries(tries + 1)}>{message}</TabFailure>;
  }
  const details = reply.key === key ? reply.details : null;
  if (!details) {
    return (
      <p class="faint" role="status" aria-busy="true">
        Reading the slice…
      </p>
    );
  }
  return <Details details={details} trace={at.trace} />;
}

function Details({ details, trace }: { details: SliceDetails; trace: number }) {
  return (
    <>
      <SelectedNode />
      <section>
        <h2 class="trace-node">{safeText(details.node)}</h2>
        <p>
          {safeText(details.op, 100)} · <strong>{nanosecondsText(details.dur)}</strong>
          {details.critical && <span class="trace-badge">critical path</span>}
        </p>
        <div class="trace-buttons">
          <InGraph node={nodeOf(details)} />
        </div>
      </section>
      <Times details={details} />
      <section>
        <h3>Where</h3>
        <table class="trace-plain">
          <tbody>
            <Line name="Device" value={safeText(details.device)} />
            {details.thread && <Line name="Thread" value={safeText(details.thread)} />}
          </tbody>
        </table>
      </section>
      <Outputs details={details} />
      <Memory details={details} />
      <Arguments of={details.arguments} />
      <Transfers details={details} trace={trace} />
      {details.fused.length > 0 && <Names title="Ran as one" names={details.fused} />}
      {details.inputs.length > 0 && <Names title="Inputs" names={details.inputs} />}
      <OtherSteps trace={trace} slice={details.slice} node={details.node} />
      {details.label && (
        <section>
          <h3>Label</h3>
          <p class="trace-label">{safeText(details.label)}</p>
        </section>
      )}
    </>
  );
}

function Times({ details }: { details: SliceDetails }) {
  const whole = mainTrace.value?.header.value?.duration_ns ?? 1;
  const wait = details.start - details.scheduled;
  return (
    <section>
      <h3>Time</h3>
      <table class="trace-plain">
        <tbody>
          {wait > 0 && <Line name="Scheduled" value={exactNanoseconds(details.scheduled)} />}
          {wait > 0 && <Line name="Waited" value={exactNanoseconds(wait)} />}
          <Line name="Started" value={exactNanoseconds(details.start)} />
          <Line name="Ended" value={exactNanoseconds(details.end)} />
          <Line name="Took" value={exactNanoseconds(details.dur)} />
          {details.op_end > details.op_start && (
            <Line name="Kernel" value={exactNanoseconds(details.op_end - details.op_start)} />
          )}
          <Line name="Share of the step" value={`${((100 * details.dur) / whole).toFixed(2)} %`} />
        </tbody>
      </table>
    </section>
  );
}

function Outputs({ details }: { details: SliceDetails }) {
  if (!details.outputs.length) return null;
  return (
    <section>
      <h3>Outputs</h3>
      <table class="trace-plain">
        <tbody>
          {details.outputs.map((output) => (
            <tr key={output.slot}>
              <td class="faint">{output.slot}</td>
              <td>
                {output.dtype} {output.unknown_rank ? '[?]' : `[${output.shape.join(', ')}]`}
              </td>
              <td>{memorySize(output.requested_bytes || output.allocated_bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What a profiler has logged with the slice, such as shapes of inputs. */
function Arguments({ of }: { of: Record<string, unknown> }) {
  const rows = Object.entries(of ?? {});
  if (!rows.length) return null;
  const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return (
    <section>
      <h3>Arguments</h3>
      <table class="trace-plain trace-arguments">
        <tbody>
          {rows.map(([name, value]) => (
            <Line key={name} name={safeText(name, 80)} value={safeText(shown(value), 400)} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Memory({ details }: { details: SliceDetails }) {
  if (!details.memory.length) return null;
  return (
    <section>
      <h3>Memory</h3>
      <table class="trace-plain">
        <tbody>
          {details.memory.map((used) => (
            <Line
              key={used.allocator}
              name={safeText(used.allocator)}
              value={`${memorySize(used.total_bytes)}, peak ${memorySize(used.peak_bytes)}`}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Line({ name, value }: { name: string; value: string }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{value}</td>
    </tr>
  );
}

const FIRST_NAMES = 40;

function Names({ title, names }: { title: string; names: string[] }) {
  const [all, setAll] = useState(false);
  return (
    <section>
      <h3>{title}</h3>
      <ul class="trace-names">
        {(all ? names : names.slice(0, FIRST_NAMES)).map((name) => (
          <li key={name}>{safeText(name, 200)}</li>
        ))}
      </ul>
      {names.length > FIRST_NAMES && (
        <button type="button" class="quiet trace-all" onClick={() => setAll(!all)}>
          {all ? 'Fewer' : `${names.length - FIRST_NAMES} more`}
        </button>
      )}
    </section>
  );
}

function Transfers({ details, trace }: { details: SliceDetails; trace: number }) {
  if (!details.transfers.length) return null;
  return (
    <section>
      <h3>Transfers</h3>
      <ul class="trace-stalls">
        {details.transfers.map((move) => {
          const out = move.from_slice === details.slice;
          return (
            <li key={`${move.from_slice} ${move.to_slice}`}>
              <button
                type="button"
                onClick={() => void goToSlice(trace, out ? move.to_slice : move.from_slice)}
              >
                <strong>{out ? 'to' : 'from'}</strong>
                <span class="trace-name">{safeText(move.name, 120)}</span>
                <span class="faint">
                  {nanosecondsText(Math.max(0, move.to - move.from))}
                  {move.bytes > 0 && `, ${memorySize(move.bytes)}`}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
