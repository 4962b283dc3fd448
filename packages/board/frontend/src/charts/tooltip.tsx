/** The table beside the cross-hair: one for the page, in the chart that the pointer is on. */

import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { choice } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import { DashSwatch } from '../controls/dash_swatch.tsx';
import { Icon } from '../controls/icons.tsx';
import { hoveredRun } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { exactWallTime } from '../units/dates.ts';
import { duration } from '../units/durations.ts';
import { count, shortNumber } from '../units/numbers.ts';
import type { ChartView } from './chart_model.ts';
import { pinnedCrosshair } from './crosshair.ts';
import { orderTouches, type Touch, type TouchOrder } from './nearest.ts';

export interface TooltipState {
  chart: string;
  anchor: HTMLElement;
  touches: Touch[];
  view: ChartView;
  pointerX: number;
  pointerY: number;
  nearest: string | null;
}

export const tooltip = signal<TooltipState | null>(null);
/** How its rows are sorted. */
export const tooltipOrder = urlSignal<TouchOrder>(
  'ts',
  choice('nearest', 'highest', 'lowest', 'name'),
  'nearest',
);
export const orders: TouchOrder[] = ['nearest', 'highest', 'lowest', 'name'];

/** The next order, in a circle. */
export function nextOrder(): void {
  tooltipOrder.value = orders[(orders.indexOf(tooltipOrder.peek()) + 1) % orders.length]!;
}

const MOST_ROWS = 12;
const MOST_PINNED = 200;

export function showTooltip(state: TooltipState): void {
  tooltip.value = state;
}

export function hideTooltip(chart: string): void {
  if (tooltip.peek()?.chart === chart) tooltip.value = null;
}

/** An x as people read it. */
export function xText(value: number, view: ChartView): string {
  if (view.xUnit === 'step') return Number.isInteger(value) ? count(value) : shortNumber(value, 7);
  if (view.xUnit === 'duration') return duration(value);
  if (view.xUnit === 'time') return exactWallTime(value);
  return shortNumber(value, 7);
}

export function Tooltip() {
  const state = tooltip.value;
  return state ? <Table state={state} /> : null;
}

function Table({ state }: { state: TooltipState }) {
  const element = useRef<HTMLDivElement>(null);
  const isPinned = pinnedCrosshair.value?.chart === state.chart;
  const rows = orderTouches(state.touches, tooltipOrder.value, state.pointerY);
  const shown = rows.slice(0, isPinned ? MOST_PINNED : MOST_ROWS);
  const hovered = hoveredRun.value;
  const smoothed = rows.some((row) => row.curve.raw !== null);
  const banded = rows.some((row) => row.curve.lo !== null);
  const tagged = new Set(rows.map((row) => row.curve.tag)).size > 1;
  const sameX = rows.every((row) => row.curve.x[row.index] === rows[0]?.curve.x[rows[0].index]);
  useLayoutEffect(() => {
    const box = state.anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = element.current!;
    const at = box.left + state.pointerX;
    const left = at + 18 + width > innerWidth - 8 ? at - 18 - width : at + 18;
    const top = Math.min(Math.max(8, box.top + state.pointerY - height / 2), innerHeight - height - 8);
    element.current!.style.transform = `translate(${Math.max(8, left)}px, ${top}px)`;
  });
  const first = rows[0];
  return (
    <div class={`tooltip${isPinned ? ' pinned' : ''}`} ref={element} role="status" aria-live="polite">
      <header>
        <b>
          {state.view.xName} {first && sameX ? xText(first.curve.x[first.index]!, state.view) : ''}
        </b>
        {isPinned ? (
          <>
            <label>
              sort{' '}
              <select
                value={tooltipOrder.value}
                onChange={(event) => {
                  tooltipOrder.value = event.currentTarget.value as TouchOrder;
                }}
              >
                {orders.map((order) => (
                  <option key={order}>{order}</option>
                ))}
              </select>
            </label>
            <button
              type="button"
              class="icon"
              aria-label="Unpin the table"
              onClick={() => {
                pinnedCrosshair.value = null;
                tooltip.value = null;
              }}
            >
              <Icon name="close" />
            </button>
          </>
        ) : (
          <span class="faint">by {tooltipOrder.value} · key s changes</span>
        )}
      </header>
      <div class="tooltip-rows">
        <table>
          <tbody>
            {shown.map(({ curve, index }) => (
              <tr key={curve.id} class={curve.run !== null && curve.run === hovered ? 'on' : ''}>
                <td>
                  <DashSwatch colour={curve.colour} dash={curve.dash} />
                </td>
                <td class="tooltip-name">
                  {safeText(curve.label, 200)}
                  {tagged && <span class="faint"> {safeText(curve.tag, 200)}</span>}
                </td>
                <td class="tooltip-number">{shortNumber(curve.y[index]!)}</td>
                {smoothed && (
                  <td class="tooltip-number faint">{curve.raw ? shortNumber(curve.raw[index]!) : ''}</td>
                )}
                {banded && (
                  <td class="tooltip-number faint">
                    {curve.lo
                      ? `${shortNumber(curve.lo[index]!, 3)} … ${shortNumber(curve.hi![index]!, 3)}`
                      : ''}
                  </td>
                )}
                {!sameX && <td class="tooltip-number faint">{xText(curve.x[index]!, state.view)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length && (
        <footer class="faint">and {rows.length - shown.length} more; click to see all</footer>
      )}
      {rows.length === 0 && <footer class="faint">no points here</footer>}
    </div>
  );
}
