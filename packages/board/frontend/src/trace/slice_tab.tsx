/** All that the trace says of the selected slice. */
import { useEffect, useState } from 'preact/hooks';
import { safeText } from '../shell/safe_text.ts';
import { goTo } from '../state/url_state.ts';
import { goToSlice } from './keys.ts';
import { bytesText, durationText, exactText } from './ruler_ticks.ts';
import { fetchEverywhere, fetchSlice, type SliceDetails } from './trace_api.ts';
import { chooseTrace, mainTrace, selectedSlice, traces } from './trace_state.ts';

type Everywhere = Awaited<ReturnType<typeof fetchEverywhere>>;

export function SliceTab() {
  const at = selectedSlice.value;
  const [details, setDetails] = useState<SliceDetails | null>(null);
  const [everywhere, setEverywhere] = useState<Everywhere>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const trace = at?.trace;
  const slice = at?.slice;
  useEffect(() => {
    if (trace === undefined || slice === undefined) return;
    let here = true;
    setFailure(null);
    // Who selects a slice often has all of it already.
    const known = at && 'outputs' in at ? Promise.resolve(at as unknown as SliceDetails) : null;
    (known ?? fetchSlice(trace, slice))
      .then((found) => {
        if (!here) return;
        setDetails(found);
        return fetchEverywhere(trace, found.node).then((rows) => here && setEverywhere(rows));
      })
      .catch((error: unknown) => here && setFailure(error instanceof Error ? error.message : String(error)));
    return () => {
      here = false;
    };
  }, [trace, slice]);
  if (failure) return <p class="faint">{failure}</p>;
  if (!at || !details) return null;
  const whole = mainTrace.value?.header.value?.duration_ns ?? 1;
  const wait = details.start - details.scheduled;
  return (
    <>
      <section>
        <h2 class="trace-node">{safeText(details.node)}</h2>
        <p>
          {safeText(details.op, 100)} · <strong>{durationText(details.dur)}</strong>
          {details.critical && <span class="trace-badge">critical path</span>}
        </p>
        <div class="trace-buttons">
          <button type="button" onClick={() => goTo('graph')}>
            Show in graph
          </button>
        </div>
      </section>
      <section>
        <h3>Time</h3>
        <table class="trace-plain">
          <tbody>
            {wait > 0 && <Line name="Scheduled" value={exactText(details.scheduled)} />}
            {wait > 0 && <Line name="Waited" value={exactText(wait)} />}
            <Line name="Started" value={exactText(details.start)} />
            <Line name="Ended" value={exactText(details.end)} />
            <Line name="Took" value={exactText(details.dur)} />
            {details.op_end > details.op_start && (
              <Line name="Of it the kernel" value={exactText(details.op_end - details.op_start)} />
            )}
            <Line name="Share of the step" value={`${((100 * details.dur) / whole).toFixed(2)} %`} />
          </tbody>
        </table>
      </section>
      <section>
        <h3>Where</h3>
        <table class="trace-plain">
          <tbody>
            <Line name="Device" value={safeText(details.device)} />
            {details.thread && <Line name="Thread" value={safeText(details.thread)} />}
          </tbody>
        </table>
      </section>
      {details.outputs.length > 0 && (
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
                  <td>{bytesText(output.requested_bytes || output.allocated_bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {details.memory.length > 0 && (
        <section>
          <h3>Memory</h3>
          <table class="trace-plain">
            <tbody>
              {details.memory.map((used) => (
                <Line
                  key={used.allocator}
                  name={safeText(used.allocator)}
                  value={`${bytesText(used.total_bytes)}, peak ${bytesText(used.peak_bytes)}`}
                />
              ))}
            </tbody>
          </table>
        </section>
      )}
      <Transfers details={details} trace={at.trace} />
      {details.fused.length > 0 && <Names title="Ran as one" names={details.fused} />}
      {details.inputs.length > 0 && <Names title="Inputs" names={details.inputs} />}
      {everywhere.length > 1 && <Elsewhere rows={everywhere} here={at} />}
      {details.label && (
        <section>
          <h3>Label</h3>
          <p class="trace-label">{safeText(details.label)}</p>
        </section>
      )}
    </>
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

function Names({ title, names }: { title: string; names: string[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <ul class="trace-names">
        {names.slice(0, 40).map((name) => (
          <li key={name}>{safeText(name, 200)}</li>
        ))}
      </ul>
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
                  {durationText(Math.max(0, move.to - move.from))}
                  {move.bytes > 0 && `, ${bytesText(move.bytes)}`}
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The same node in other steps, and again in this one. */
function Elsewhere({ rows, here }: { rows: Everywhere; here: { trace: number; slice: number } }) {
  const most = Math.max(1, ...rows.map((row) => row.dur));
  return (
    <section>
      <h3>
        In all traced steps <span class="faint">{rows.length}</span>
      </h3>
      <table class="trace-bars">
        <tbody>
          {rows.slice(0, 40).map((row) => {
            const self = row.trace === here.trace && row.slice === here.slice;
            const go = () => {
              const other = traces.peek()?.find((one) => one.id === row.trace);
              if (other && row.trace !== mainTrace.peek()?.id) chooseTrace(other);
              void goToSlice(row.trace, row.slice);
            };
            return (
              <tr key={`${row.trace} ${row.slice}`} aria-current={self || undefined}>
                <td class="trace-bar-name">
                  <span class="trace-bar plain" style={{ width: `${(100 * row.dur) / most}%` }} />
                  <button type="button" class="trace-link" onClick={go}>
                    step {row.step}
                  </button>
                </td>
                <td>{durationText(row.dur)}</td>
                <td class="faint">at {durationText(row.start)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
