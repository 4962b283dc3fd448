/** The card of values that the board has no picture for: shape, element type and the first elements. */

import { useMemo } from 'preact/hooks';
import { getJson } from '../api/client.ts';
import type { Run } from '../api/types.ts';
import { useResponse } from '../api/use_response.ts';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, unionOfSteps } from '../cards/card_choice.ts';
import { CardStepBar } from '../cards/card_step_bar.tsx';
import { type Place, placeKey, placeNear, useRows } from '../media/blob_rows.ts';
import { choiceOf, setChoice } from '../media/media_view.ts';
import { RunName } from '../runs/run_name.tsx';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { prefixedNumber } from '../units/numbers.ts';

interface TensorReply {
  step: number;
  shape: number[] | null;
  dtype?: string;
  size?: number;
  values?: (number | string | boolean)[];
  min?: number | string;
  max?: number | string;
  error?: string;
}

const MOST_RUNS = 20;

export default function TensorCard({ tag, runs }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { rows, failure, nothing } = useRows(
    tag.id,
    shown.map((run) => run.id),
  );
  const choice = choiceOf(tag.name);
  const steps = useMemo(() => unionOfSteps([...rows.values()].map((r) => r.steps)), [rows]);
  const step = chosenStep(steps, choice.step, stepCursor.value);
  return (
    <div class="tensor-card">
      {failure && rows.size === 0 && (
        <p class="card-note" role="alert">
          {failure}
        </p>
      )}
      <p class="tensor-plugin faint">
        {isForOthers(tag.plugin)
          ? `Written for ${safeText(tag.plugin, 80)}, which the board has no view for.`
          : ''}
      </p>
      {step !== null &&
        shown.map((run) => {
          const place = placeNear(run.id, tag.id, rows.get(run.id), step);
          return place && <Tensor key={run.id} run={run} place={place} titled={shown.length > 1} />;
        })}
      {nothing && <p class="card-note">{nothing}</p>}
      {runs.length > shown.length && (
        <p class="card-foot faint">
          {shown.length} of {runs.length} runs
        </p>
      )}
      {step !== null && (
        <CardStepBar
          label={`Step of ${safeText(tag.name, 120)}`}
          steps={steps}
          step={step}
          own={choice.step !== undefined}
          wall={null}
          firstWall={null}
          onStep={(next) => setChoice(tag.name, { step: next })}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
    </div>
  );
}

/** Whether a plugin is one whose view the board lacks; PyTorch's add_tensor names values like this card does. */
const isForOthers = (plugin: string): boolean => plugin !== '' && plugin !== 'tensor';

function Tensor({ run, place, titled }: { run: Run; place: Place; titled: boolean }) {
  const { tag, row } = place;
  const { response: reply, failure } = useResponse<TensorReply | null>(
    (signal) => getJson<TensorReply>('tensors', { run: run.id, tag, row }, signal),
    null,
    [placeKey(place)],
  );
  const problem = failure ?? reply?.error;
  const values = reply?.values ?? [];
  return (
    <section class="run-text">
      {titled && (
        <div class="run-text-title">
          <RunName run={run} />
        </div>
      )}
      {problem && <p class="faint">{safeText(problem, 300)}</p>}
      {reply && (
        <>
          <p class="tensor-shape">
            <b>{reply.dtype ?? 'no tensor'}</b> [{(reply.shape ?? []).join(', ')}]
            {reply.min !== undefined &&
              ` · ${prefixedNumber(Number(reply.min))} to ${prefixedNumber(Number(reply.max))}`}
          </p>
          {values.length > 0 && (
            <pre class="text-plain tensor-values">
              {values.map((v) => (typeof v === 'string' ? safeText(v, 200) : String(v))).join('  ')}
              {(reply.size ?? 0) > values.length ? `  … ${values.length} of ${reply.size}` : ''}
            </pre>
          )}
        </>
      )}
    </section>
  );
}
