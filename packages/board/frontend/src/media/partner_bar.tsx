/** With what the images of a card are compared: a run and a step, and how. */

import type { Run } from '../api/types.ts';
import { nearestIndex } from '../cards/card_choice.ts';
import { runTitle } from '../state/run_title.ts';
import { safeText } from '../strings/safe_text.ts';
import type { Compare } from './media_view.ts';

interface PartnerBarProps {
  runs: Run[];
  run: Run;
  steps: number[];
  step: number;
  mode: Compare;
  gain: number;
  wipe: number;
  onRun: (name: string) => void;
  onStep: (step: number) => void;
  onGain: (gain: number) => void;
  onWipe: (share: number) => void;
}

export function PartnerBar(props: PartnerBarProps) {
  const { runs, run, steps, step, mode } = props;
  return (
    <div class="step-bar">
      <span>against</span>
      {runs.length > 1 && (
        <select
          class="tool"
          aria-label="Run to compare with"
          value={run.name}
          onChange={(event) => props.onRun(event.currentTarget.value)}
        >
          {runs.map((one) => (
            <option key={one.id} value={one.name}>
              {safeText(runTitle(one.name), 80)}
            </option>
          ))}
        </select>
      )}
      <input
        type="range"
        aria-label="Step to compare with"
        min={0}
        max={Math.max(0, steps.length - 1)}
        value={nearestIndex(steps, step)}
        onInput={(event) => props.onStep(steps[Number(event.currentTarget.value)]!)}
      />
      <span class="step-count">step {step}</span>
      {mode === 'difference' && (
        <label class="step-field">
          gain
          <select
            class="tool"
            value={props.gain}
            onChange={(e) => props.onGain(Number(e.currentTarget.value))}
          >
            {[1, 2, 4, 8, 16, 64].map((gain) => (
              <option key={gain} value={gain}>
                {gain}×
              </option>
            ))}
          </select>
        </label>
      )}
      {mode === 'wipe' && (
        <label class="step-field">
          wipe
          <input
            type="range"
            min={0}
            max={1}
            step={0.01}
            value={props.wipe}
            onInput={(event) => props.onWipe(Number(event.currentTarget.value))}
          />
        </label>
      )}
    </div>
  );
}
