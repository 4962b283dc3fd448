/** The Step tab: times by op, the critical path, times by node and device, and folded the long waits. */

import { safeText } from '../../strings/safe_text.ts';
import { themeVersion } from '../../style/theme.ts';
import { memorySize } from '../../units/bytes.ts';
import { nanosecondsText } from '../../units/nanoseconds.ts';
import { count, counted, percent } from '../../units/numbers.ts';
import { colouring, showCritical, windowOfTime } from '../address/address_fields.ts';
import { isWait, type Stall, type Summary, type Totals, type TraceHeader } from '../data/trace_api.ts';
import { LEVELS } from '../data/trace_items.ts';
import { legendOf, themeColours } from '../draw/trace_colours.ts';
import { groupsOf, groupTitle } from '../layout/rows.ts';
import { fitRange } from '../layout/time_view.ts';
import { goToSlice, selectNode } from '../state/trace_selection.ts';
import { duration, mainTrace, timelineWidth } from '../state/trace_state.ts';
import { type Bar, BarTable } from './bar_table.tsx';
import { TabFailure } from './loading.tsx';

const KINDS: Record<Stall['kind'], string> = {
  receive: 'waited for a tensor',
  sync: 'waited for a queue',
  copy: 'copied',
  queue: 'was ready, its thread was busy',
};

const MOST_STALLS = 30;

export function StepTab() {
  const model = mainTrace.value;
  const header = model?.header.value;
  const summary = model?.summary.value;
  if (!model || !header) return <p class="faint">{model?.failure.value ?? 'Reading the step…'}</p>;
  return (
    <>
      <Legend header={header} />
      {summary ? (
        <>
          <TimeByOp totals={summary.totals} />
          {summary.critical.slices > 0 && <CriticalPath header={header} critical={summary.critical} />}
          <Waits trace={model.id} stalls={summary.stalls} />
          <TimeByNode totals={summary.totals} />
          <Devices header={header} />
          <Clocks header={header} transfers={summary.transfer_count} />
        </>
      ) : (
        <Summing failure={model.failure.value} retry={() => model.retry(timelineWidth.peek())} />
      )}
    </>
  );
}

/** Folded: most readers look for what took the time first. A busy thread is no fault, so its queue stands apart. */
function Waits({ trace, stalls }: { trace: number; stalls: Stall[] }) {
  const [waited, queued] = [stalls.filter(isWait), stalls.filter((stall) => !isWait(stall))];
  return (
    <>
      {waited.length > 0 && <WaitList trace={trace} title="Long waits" stalls={waited} />}
      {queued.length > 0 && (
        <WaitList trace={trace} title="Ready, but their thread was busy" stalls={queued} calm />
      )}
    </>
  );
}

interface WaitListProps {
  trace: number;
  title: string;
  stalls: Stall[];
  calm?: boolean;
}

function WaitList({ trace, title, stalls, calm = false }: WaitListProps) {
  const show = ({ begin, wait_ns, to }: Stall) => {
    windowOfTime.value = fitRange(begin, begin + wait_ns, duration.peek(), 0.4);
    void goToSlice(trace, to.slice);
  };
  return (
    <details class="trace-fold-section">
      <summary>
        <h3>
          {title} <span class="faint">{stalls.length}</span>
        </h3>
      </summary>
      <ul class="trace-stalls">
        {stalls.slice(0, MOST_STALLS).map((stall) => (
          <li key={`${stall.to.slice} ${stall.begin}`}>
            <button type="button" onClick={() => show(stall)}>
              <strong class={calm ? '' : 'trace-wait'}>{nanosecondsText(stall.wait_ns)}</strong>
              <span class="trace-name">{safeText(stall.to.node, 120)}</span>
              <span class="faint">
                {KINDS[stall.kind]}
                {stall.from && ` — ${safeText(stall.from.node, 60)}`}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {stalls.length > MOST_STALLS && <p class="faint">and {stalls.length - MOST_STALLS} shorter ones</p>}
    </details>
  );
}

function CriticalPath({ header, critical }: { header: TraceHeader; critical: Summary['critical'] }) {
  const isAll = critical.slices >= header.slices;
  return (
    <section>
      <h3>
        Critical path
        <button
          type="button"
          class={`trace-toggle small${showCritical.value ? ' on' : ''}`}
          aria-pressed={showCritical.value}
          onClick={() => {
            showCritical.value = !showCritical.peek();
          }}
        >
          Show
        </button>
      </h3>
      <p class="faint">
        {isAll ? 'All slices, one after the other: ' : `${count(critical.slices)} slices, `}
        {nanosecondsText(critical.self_ns)} of work; {nanosecondsText(critical.gap_ns)} in between (
        {percent(critical.gap_ns / Math.max(1, header.duration_ns))}).
      </p>
      {!isAll && <BarTable rows={critical.by_op.map(barOfOp)} whole={header.duration_ns} first={6} />}
    </section>
  );
}

function TimeByOp({ totals }: { totals: Totals }) {
  return (
    <section>
      <h3>Time by op</h3>
      <BarTable rows={totals.by_op.map(barOfOp)} whole={totals.total_ns} first={8} />
    </section>
  );
}

function TimeByNode({ totals }: { totals: Totals }) {
  const nodes = totals.by_node.map((row) => ({
    name: row.node,
    op: row.op,
    ns: row.total_ns,
    count: row.count,
    run: () => selectNode(row.node),
  }));
  return (
    <section>
      <h3>Time by node</h3>
      <BarTable rows={nodes} whole={totals.total_ns} first={8} />
    </section>
  );
}

function barOfOp({ op, total_ns, count }: { op: string; total_ns: number; count: number }): Bar {
  return { name: op, op, ns: total_ns, count };
}

function Summing({ failure, retry }: { failure: string | null; retry: () => void }) {
  if (failure !== null) return <TabFailure retry={retry}>{failure}</TabFailure>;
  return (
    <p class="faint" role="status" aria-busy="true">
      Finding the critical path…
    </p>
  );
}

function Legend({ header }: { header: TraceHeader }) {
  void themeVersion.value;
  if (colouring.value !== 'kind') return null;
  return (
    <ul class="trace-legend" aria-label="Colours">
      {legendOf(header.ops, themeColours()).map((tone) => (
        <li key={tone.title}>
          <span style={{ background: tone.fills[LEVELS]! }} />
          {tone.title}
        </li>
      ))}
    </ul>
  );
}

function Devices({ header }: { header: TraceHeader }) {
  const groups = groupsOf(header.lanes);
  const rows = groups.map((tracks) => ({
    name: groupTitle(tracks[0]!),
    ns: tracks.reduce((sum, track) => sum + track.busy_ns, 0),
    tracks: tracks.length,
  }));
  return (
    <section>
      <h3>Devices</h3>
      <table class="trace-plain">
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td>{safeText(row.name, 100)}</td>
              <td class="faint">{counted(row.tracks, 'track')}</td>
              <td>{nanosecondsText(row.ns)}</td>
              <td class="faint">{percent(row.ns / Math.max(1, header.duration_ns * row.tracks))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Clocks({ header, transfers }: { header: TraceHeader; transfers: number }) {
  const moved = Object.entries(header.skew_ns).filter(([, ns]) => ns !== 0);
  return (
    <section>
      <h3>The trace</h3>
      <p class="faint">
        {count(header.slices)} slices in {memorySize(header.bytes)}, {counted(transfers, 'transfer')} matched.
        {header.untimed > 0 && ` ${header.untimed} nodes without a time are left out.`}
      </p>
      {moved.map(([task, ns]) => (
        <p key={task} class="faint">
          The clock of {safeText(task, 80)} was {nanosecondsText(Math.abs(ns))} {ns < 0 ? 'ahead' : 'behind'}.
          Its tracks are shifted by that, so that nothing arrives before it was sent.
        </p>
      ))}
    </section>
  );
}
