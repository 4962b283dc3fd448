/** The slider over all steps of a card, with a field to type one and the link to the global step cursor. */

import { TypedField } from '../controls/typed_field.tsx';
import { stepCursor } from '../state/selection.ts';
import { wallTime } from '../units/dates.ts';
import { shortDuration } from '../units/durations.ts';
import { nearestIndex } from './card_choice.ts';

const LINK =
  'M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.2-2.2a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.3 9a2.6 2.6 0 0 0 3.7 3.7l.9-.9';
const TARGET = 'M8 4.2a3.8 3.8 0 1 1 0 7.6a3.8 3.8 0 0 1 0-7.6M8 1.5v4M8 10.5v4M1.5 8h4M10.5 8h4';

function Sign({ path }: { path: string }) {
  return (
    <svg class="sign" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

interface CardStepBarProps {
  /** Names the slider for screen readers. */
  label: string;
  steps: number[];
  step: number;
  /** The card has its own step and does not follow the cursor. */
  own: boolean;
  wall: number | null;
  firstWall: number | null;
  onStep: (step: number) => void;
  /** Follow the global cursor again; absent where that is not possible. */
  onFollow?: () => void;
}

export function CardStepBar({
  label,
  steps,
  step,
  own,
  wall,
  firstWall,
  onStep,
  onFollow,
}: CardStepBarProps) {
  const at = Math.max(0, nearestIndex(steps, step));
  const go = (index: number) => {
    const next = steps[Math.max(0, Math.min(steps.length - 1, index))];
    if (next !== undefined) onStep(next);
  };
  const goNear = (typed: string) => {
    const requested = Number(typed);
    if (typed.trim() !== '' && Number.isFinite(requested)) go(nearestIndex(steps, requested));
  };
  const when = wall === null ? '' : wallTime(wall);
  const since =
    wall === null || firstWall === null ? '' : `${shortDuration(wall - firstWall)} after the first`;
  return (
    <div class="step-bar">
      <button
        type="button"
        class="tool"
        aria-label="Previous step"
        disabled={at === 0}
        onClick={() => go(at - 1)}
      >
        ‹
      </button>
      <input
        type="range"
        min={0}
        max={Math.max(0, steps.length - 1)}
        value={at}
        disabled={steps.length < 2}
        aria-label={label}
        aria-valuetext={`step ${step}, ${at + 1} of ${steps.length}`}
        onInput={(event) => go(Number(event.currentTarget.value))}
      />
      <button
        type="button"
        class="tool"
        aria-label="Next step"
        disabled={at >= steps.length - 1}
        onClick={() => go(at + 1)}
      >
        ›
      </button>
      <span class="step-field">
        <TypedField
          type="text"
          inputMode="numeric"
          aria-label="Type a step"
          title="Step; type one to go to the nearest"
          value={String(step)}
          onCommit={goNear}
        />
      </span>
      <span class="step-count" title={[when, since].filter(Boolean).join(', ')}>
        {at + 1} of {steps.length}
      </span>
      {onFollow && (
        <>
          <button
            type="button"
            class="tool"
            aria-pressed={!own}
            aria-label="Follow the global step cursor"
            title={own ? 'Follow the global step cursor again' : 'Follows the global step cursor'}
            onClick={() => own && onFollow()}
          >
            <Sign path={LINK} />
          </button>
          <button
            type="button"
            class="tool"
            aria-label="Move the global step cursor here"
            title="Move the global step cursor to this step"
            onClick={() => {
              stepCursor.value = step;
              onFollow();
            }}
          >
            <Sign path={TARGET} />
          </button>
        </>
      )}
    </div>
  );
}
