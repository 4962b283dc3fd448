/** What is under the pointer, in a few words. */
import { safeText } from '../../strings/safe_text.ts';
import { durationText, percentText, timeText } from '../layout/ruler_ticks.ts';
import { hovered } from './hit_test.ts';

const WIDTH = 320;
const HEIGHT = 130;

export function HoverCard() {
  const at = hovered.value;
  if (!at) return null;
  const left = Math.max(8, Math.min(at.clientX + 14, innerWidth - WIDTH - 12));
  const below = at.clientY + HEIGHT < innerHeight;
  const place = below
    ? { left: `${left}px`, top: `${at.clientY + 16}px` }
    : { left: `${left}px`, bottom: `${innerHeight - at.clientY + 12}px` };
  return (
    <div class="trace-hover" style={place} aria-hidden="true">
      {at.merged ? (
        <>
          <strong>{at.count.toLocaleString('en')} slices</strong>
          <div>
            mostly {safeText(at.op, 60)}, {percentText(at.busy)} busy
          </div>
          <div class="faint">
            {durationText(at.dur)} at {timeText(at.start, at.dur)}
          </div>
        </>
      ) : (
        <>
          <strong>{safeText(at.name, 160)}</strong>
          <div>
            {safeText(at.op, 60)} · <b>{durationText(at.dur)}</b>
          </div>
          <div class="faint">
            at {timeText(at.start, at.dur)}
            {at.wait > 0 && `, waited ${durationText(at.wait)}`}
          </div>
        </>
      )}
    </div>
  );
}
