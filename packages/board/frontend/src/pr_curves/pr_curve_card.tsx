/** The card of a tag of precision-recall curves: all runs at a step, and one threshold read out for each. */

import { useMemo, useRef, useState } from 'preact/hooks';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, unionOfSteps } from '../cards/card_choice.ts';
import { CardStepBar } from '../cards/card_step_bar.tsx';
import { ToolBar, ToolChoice } from '../controls/tool_bar.tsx';
import { choiceOf, setChoice } from '../media/media_view.ts';
import { CanvasView } from '../picture/canvas_view.tsx';
import { paletteNow } from '../picture/palette.ts';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { type CurveKind, drawCurves, nearestPoint, plotBox } from './pr_curve_draw.ts';
import { usePrMenu } from './pr_downloads.ts';
import { useTables } from './pr_tables.ts';
import { curveKind, threshold, useRunCurves } from './pr_view.ts';
import { ThresholdTable } from './threshold_table.tsx';

const MOST_RUNS = 50;
const KINDS: [CurveKind, string][] = [
  ['pr', 'Precision–recall'],
  ['roc', 'ROC'],
];

export default function PrCurveCard({ tag, runs, width, height }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { tables, failure, nothing, note } = useTables(
    tag.id,
    shown.map((run) => run.id),
  );
  const choice = choiceOf(tag.name);
  const steps = useMemo(
    () => unionOfSteps([...tables.values()].map((list) => list.map((t) => t.step))),
    [tables],
  );
  const step = chosenStep(steps, choice.step, stepCursor.value);
  const [dragging, setDragging] = useState(false);
  const palette = paletteNow();
  const kind = curveKind.value;
  const curves = useRunCurves(shown, tables, step);
  // The table has room for its five numbers and a short name.
  const side = width > 500 ? Math.min(330, width * 0.56) : 0;
  const w = width - side;
  const tableHeight = side ? 0 : Math.min(26 + 22 * curves.length, 120);
  const left = [runs.length > shown.length ? `${shown.length} of ${runs.length} runs` : '', note].filter(
    Boolean,
  );
  const h = Math.max(100, height - 66 - tableHeight - (left.length ? 20 : 0));
  const draw = useMemo(
    () => (on: CanvasRenderingContext2D) =>
      drawCurves(on, curves, { kind, width: w, height: h, threshold: threshold.value }, palette),
    [curves, kind, w, h, threshold.value, palette.surface],
  );
  const root = useRef<HTMLDivElement>(null);
  usePrMenu(tag.name, curves, w, h, root);
  const pick = (x: number, y: number) => {
    const found = nearestPoint(curves, kind, plotBox(w, h), x, y);
    if (found) threshold.value = found.threshold;
  };
  const name = safeText(tag.name, 120);
  const first = curves[0]?.table;
  return (
    <div ref={root}>
      <ToolBar label={`View of ${name}`}>
        <ToolChoice label="Curve" value={kind} options={KINDS} onChange={(v) => (curveKind.value = v)} />
        <label class="step-field">
          threshold
          <input
            type="range"
            min={0}
            max={1}
            step={0.005}
            value={threshold.value}
            onInput={(event) => (threshold.value = Number(event.currentTarget.value))}
          />
          <output class="tool-value">{threshold.value.toFixed(3)}</output>
        </label>
      </ToolBar>
      {failure && curves.length === 0 && (
        <p class="card-note" role="alert">
          {failure}
        </p>
      )}
      {nothing && <p class="card-note">{nothing}</p>}
      <div class={side ? 'pr-wide' : ''}>
        <CanvasView
          width={w}
          height={h}
          draw={draw}
          label={`${kind === 'pr' ? 'Precision-recall curves' : 'ROC curves'} of ${name}, ${curves.length} runs`}
          onPress={(x, y) => {
            setDragging(true);
            pick(x, y);
          }}
          onMove={(x, y) => dragging && pick(x, y)}
          onRelease={() => setDragging(false)}
          onKey={(event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            const by = event.key === 'ArrowRight' ? 0.01 : event.key === 'ArrowLeft' ? -0.01 : 0;
            if (!by) return;
            event.preventDefault();
            threshold.value = Math.max(0, Math.min(1, Math.round((threshold.value + by) * 1000) / 1000));
          }}
        />
        <ThresholdTable curves={curves} step={step} height={tableHeight || h} />
      </div>
      {left.length > 0 && <p class="card-foot faint">{left.join(' · ')}</p>}
      {step !== null && (
        <CardStepBar
          label={`Step of ${name}`}
          steps={steps}
          step={step}
          own={choice.step !== undefined}
          wall={first?.wall ?? null}
          firstWall={null}
          onStep={(next) => setChoice(tag.name, { step: next })}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
    </div>
  );
}
