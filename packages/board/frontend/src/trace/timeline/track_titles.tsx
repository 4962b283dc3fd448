/** The titles of the tracks, and of the groups that open and close. */

import { useComputed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { safeText } from '../../strings/safe_text.ts';
import { memorySize } from '../../units/bytes.ts';
import { percent } from '../../units/numbers.ts';
import { heightOf, type Row } from '../layout/rows.ts';
import { rows, sections, shown, toggleGroup, toggleHidden, togglePinned } from '../state/trace_state.ts';

export function ScrollArea({ children }: { children: ComponentChildren }) {
  const height = useComputed(() => heightOf(rows.value) + 24);
  return (
    <div class="trace-tall" style={{ minHeight: `${height.value}px` }}>
      {children}
    </div>
  );
}

export function TrackTitles() {
  const all = rows.value;
  const pinned = all.filter((row) => row.pinned);
  return (
    <div class="trace-gutter">
      {pinned.length > 0 && (
        <div class="trace-pinned">
          <div style={{ height: `${heightOf(pinned)}px` }}>
            {pinned.map((row) => (
              <Title key={`${row.section} ${row.y}`} row={row} />
            ))}
          </div>
        </div>
      )}
      {all.map((row) => !row.pinned && <Title key={`${row.section} ${row.kind} ${row.y}`} row={row} />)}
    </div>
  );
}

function Title({ row }: { row: Row }) {
  const section = sections.value[row.section];
  const style = { top: `${row.y}px`, height: `${row.height}px` };
  if (row.kind === 'group') {
    return (
      <button
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
    const model = shown.value.find((one) => one.id === section?.trace);
    const curve = model?.memory.curves[row.curve];
    return (
      <div class="trace-row memory" style={style}>
        <span class="trace-title">{safeText(row.title)}</span>
        {curve && <span class="faint">{memorySize(curve.peak)} peak</span>}
      </div>
    );
  }
  const lane = section?.lanes[row.lanes[0] ?? -1];
  const share = lane && section ? lane.busy_ns / section.duration : 0;
  const below = row.kind === 'track' && (lane?.row ?? 0) > 0;
  return (
    <div class={`trace-row ${row.kind}${row.indent ? ' inside' : ''}${below ? ' below' : ''}`} style={style}>
      <span class="trace-title" title={safeText(row.title)}>
        {safeText(row.title)}
      </span>
      {row.kind === 'track' && !below && (
        <>
          <span class="faint">{percent(share)}</span>
          <span class="trace-track-tools">
            <button
              type="button"
              aria-pressed={row.pinned}
              aria-label={`${row.pinned ? 'Unpin' : 'Pin'} ${safeText(row.title, 100)}`}
              title={row.pinned ? 'Unpin' : 'Pin: stays on top'}
              onClick={() => togglePinned(row.key)}
            >
              <svg viewBox="0 0 12 12" aria-hidden="true">
                <path d="M4 1h4M4.5 1v4L2.5 7.5h7L7.5 5V1M6 7.5V11" />
              </svg>
            </button>
            <button
              type="button"
              aria-label={`Hide ${safeText(row.title, 100)}`}
              title="Hide"
              onClick={() => toggleHidden(row.key)}
            >
              <svg viewBox="0 0 12 12" aria-hidden="true">
                <path d="M2.5 2.5l7 7M9.5 2.5l-7 7" />
              </svg>
            </button>
          </span>
        </>
      )}
    </div>
  );
}
