/** What is under the pointer, in a few words. */
import { signal } from '@preact/signals';
import { safeText } from '../shell/safe_text.ts';
import { durationText, percentText, timeText } from './ruler_ticks.ts';
import { MERGED } from './trace_items.ts';
import { shown } from './trace_state.ts';

export const hovered = signal<{ trace: number; item: number; x: number; y: number } | null>(null);

const WIDTH = 320;

export function HoverCard() {
  const at = hovered.value;
  const model = at && shown.value.find((one) => one.id === at.trace);
  const items = model?.items;
  const header = model?.header.value;
  if (!at || !items || !header || at.item >= items.columns.start.length) return null;
  const { name, op, start, dur, kind, busy, count, wait } = items.columns;
  const i = at.item;
  const merged = kind[i] === MERGED;
  const left = Math.max(8, Math.min(at.x + 14, innerWidth - WIDTH - 12));
  const below = at.y + 130 < innerHeight;
  const place = below
    ? { left: `${left}px`, top: `${at.y + 16}px` }
    : { left: `${left}px`, bottom: `${innerHeight - at.y + 12}px` };
  return (
    <div class="trace-hover" style={place} aria-hidden="true">
      {merged ? (
        <>
          <strong>{count[i]!.toLocaleString('en')} slices</strong>
          <div>
            mostly {safeText(header.ops[op[i]!] ?? '', 60)}, {percentText(busy[i]!)} busy
          </div>
          <div class="faint">
            {durationText(dur[i]!)} at {timeText(start[i]!, dur[i]!)}
          </div>
        </>
      ) : (
        <>
          <strong>{safeText(items.names[name[i]!] ?? '', 160)}</strong>
          <div>
            {safeText(header.ops[op[i]!] ?? '', 60)} · <b>{durationText(dur[i]!)}</b>
          </div>
          <div class="faint">
            at {timeText(start[i]!, dur[i]!)}
            {wait[i]! > 0 && `, waited ${durationText(wait[i]!)}`}
          </div>
        </>
      )}
    </div>
  );
}
