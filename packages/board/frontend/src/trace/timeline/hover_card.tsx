/** A tooltip for the item under the pointer. */

import { safeText } from '../../strings/safe_text.ts';
import { momentInSpan, nanosecondsText } from '../../units/nanoseconds.ts';
import { count, percent } from '../../units/numbers.ts';
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
          <strong>{count(at.count)} slices</strong>
          <div>
            mostly {safeText(at.op, 60)}, {percent(at.busy)} busy
          </div>
          <div class="faint">
            {nanosecondsText(at.dur)} at {momentInSpan(at.start, at.dur)}
          </div>
        </>
      ) : (
        <>
          <strong>{safeText(at.name, 160)}</strong>
          <div>
            {safeText(at.op, 60)} · <b>{nanosecondsText(at.dur)}</b>
          </div>
          <div class="faint">
            at {momentInSpan(at.start, at.dur)}
            {at.wait > 0 && `, waited ${nanosecondsText(at.wait)}`}
          </div>
        </>
      )}
    </div>
  );
}
