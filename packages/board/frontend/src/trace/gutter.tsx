/** The titles of the lanes, at their left; groups open and close. */
import { useComputed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { safeText } from '../shell/safe_text.ts';
import { heightOf } from './rows.ts';
import { bytesText, percentText } from './ruler_ticks.ts';
import { mainTrace, rows, sections, shown, toggleGroup } from './trace_state.ts';

export function Tall({ children }: { children: ComponentChildren }) {
  const height = useComputed(() => heightOf(rows.value) + 24);
  return (
    <div class="trace-tall" style={{ minHeight: `${height.value}px` }}>
      {children}
    </div>
  );
}

export function Corner() {
  const model = mainTrace.value;
  const header = model?.header.value;
  if (!header) return null;
  const lanes = header.lane_count ?? header.lanes.length;
  return (
    <>
      <span>{header.slices.toLocaleString('en')} slices</span>
      <span class="faint">
        {lanes} {lanes === 1 ? 'lane' : 'lanes'}
      </span>
    </>
  );
}

export function Gutter() {
  const all = rows.value;
  const parts = sections.value;
  const models = shown.value;
  return (
    <div class="trace-gutter">
      {all.map((row) => {
        const section = parts[row.section];
        const model = models.find((one) => one.id === section?.trace);
        const key = `${row.section} ${row.kind} ${row.y}`;
        const style = { top: `${row.y}px`, height: `${row.height}px` };
        if (row.kind === 'group') {
          return (
            <button
              key={key}
              type="button"
              class="trace-group"
              style={style}
              aria-expanded={row.open}
              title={safeText(row.title)}
              onClick={() => toggleGroup(row.key)}
            >
              <span class="trace-fold" aria-hidden="true" />
              <span class="trace-title">{safeText(row.title)}</span>
            </button>
          );
        }
        if (row.kind === 'memory') {
          const curve = model?.memory[row.curve];
          return (
            <div key={key} class="trace-row memory" style={style}>
              <span class="trace-title">{safeText(row.title)}</span>
              {curve && <span class="faint">{bytesText(curve.peak)} peak</span>}
            </div>
          );
        }
        const lane = section?.lanes[row.lanes[0] ?? -1];
        const share = lane && section ? lane.busy_ns / section.duration : 0;
        return (
          <div key={key} class={`trace-row ${row.kind}${row.indent ? ' inside' : ''}`} style={style}>
            <span class="trace-title" title={safeText(row.title)}>
              {safeText(row.title)}
            </span>
            {row.kind === 'lane' && row.title && <span class="faint">{percentText(share)}</span>}
          </div>
        );
      })}
    </div>
  );
}
