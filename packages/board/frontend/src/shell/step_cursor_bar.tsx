/** The bar at the bottom: the global step cursor, which images, histograms, text and traces follow. */

import { computed } from '@preact/signals';
import { useState } from 'preact/hooks';
import { choice } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import { Icon } from '../controls/icons.tsx';
import { visibleRunIds } from '../runs/visible_runs.ts';
import { runById, series } from '../state/catalogue.ts';
import { stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { stepReachOf } from '../state/step_reach.ts';
import { localDate } from '../units/dates.ts';
import { duration } from '../units/durations.ts';
import { count, counted, shortNumber } from '../units/numbers.ts';

type Shown = 'step' | 'relative' | 'wall';
/** How the cursor is written. */
export const cursorUnit = urlSignal<Shown>('cu', choice('step', 'relative', 'wall'), 'step');

/** All steps of the runs that are drawn, and the run that has the most of them. */
export const stepReach = computed(() =>
  stepReachOf(series.value.filter((one) => visibleRunIds.value.has(one.run))),
);

/** When a step was, in seconds; between first and last event of the longest run steps are taken as even. */
function wallOf(step: number): number {
  const { longest } = stepReach.value!;
  const part = (step - longest.firstStep) / (longest.lastStep - longest.firstStep || 1);
  return longest.firstWall + Math.max(0, Math.min(1, part)) * (longest.lastWall - longest.firstWall);
}

function textOf(step: number): string {
  if (cursorUnit.value === 'relative') {
    const { longest } = stepReach.value!;
    const start = Math.min(runById.value.get(longest.run)?.start || longest.firstWall, longest.firstWall);
    return `≈ ${duration(Math.round(wallOf(step) - start))}`;
  }
  if (cursorUnit.value === 'wall') return `≈ ${localDate(wallOf(step))}`;
  return count(step);
}

export function StepCursorBar() {
  const reach = stepReach.value;
  // What is being typed stays while the cursor changes.
  const [typed, setTyped] = useState<string | null>(null);
  if (!reach) return null;
  const { lo, hi, beyond } = reach;
  const at = stepCursor.value;
  const from = stepFrom.value;
  const to = stepTo.value;
  const set = (step: number) => {
    stepCursor.value = Math.round(Math.max(lo, Math.min(hi, step)));
  };
  return (
    <footer class="cursor-bar">
      <span class="faint">step cursor</span>
      <input
        class="step-number"
        type="number"
        aria-label="Step"
        min={lo}
        max={hi}
        placeholder="none"
        value={typed ?? at ?? ''}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => {
          const text = event.currentTarget.value;
          if (text === '') stepCursor.value = null;
          else set(Number(text));
          setTyped(null);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setTyped(null);
        }}
        onBlur={() => setTyped(null)}
      />
      <span class="step-end">{shortNumber(lo)}</span>
      <input
        type="range"
        class={`step-slider${at === null ? ' idle' : ''}`}
        aria-label="Step cursor"
        aria-valuetext={at === null ? 'none' : textOf(at)}
        min={lo}
        max={hi}
        step="1"
        value={at ?? hi}
        onInput={(event) => set(Number(event.currentTarget.value))}
      />
      <span
        class="step-end"
        title={beyond ? `${counted(beyond, 'series', 'series')} with steps far beyond` : ''}
      >
        {shortNumber(hi)}
        {beyond > 0 && ' +'}
      </span>
      <output class="step-text">
        {at === null ? 'latest' : cursorUnit.value === 'step' ? '' : textOf(at)}
      </output>
      <select
        aria-label="Show the cursor as"
        value={cursorUnit.value}
        onChange={(event) => {
          cursorUnit.value = event.currentTarget.value as Shown;
        }}
      >
        <option value="step">step</option>
        <option value="relative">relative</option>
        <option value="wall">wall time</option>
      </select>
      {(from !== null || to !== null) && (
        <span class="chip">
          steps {from === null ? '…' : count(from)} to {to === null ? '…' : count(to)}
          <button
            type="button"
            class="icon"
            aria-label="Clear the selected steps"
            onClick={() => {
              stepFrom.value = null;
              stepTo.value = null;
            }}
          >
            <Icon name="close" />
          </button>
        </span>
      )}
      {at !== null && (
        <button
          type="button"
          class="icon"
          aria-label="Clear the step cursor"
          title="Back to the latest step"
          onClick={() => {
            stepCursor.value = null;
          }}
        >
          <Icon name="close" />
        </button>
      )}
    </footer>
  );
}
