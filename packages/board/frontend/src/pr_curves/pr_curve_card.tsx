/** The card of a tag of precision-recall curves: all runs at a step, and one threshold read out for each. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { choice, number } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import type { Run } from '../api/types.ts';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, nearestIndex, unionOfSteps } from '../cards/card_choice.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { StepBar } from '../cards/step_bar.tsx';
import { ToolBar, ToolChoice } from '../controls/tool_bar.tsx';
import { choiceOf, setChoice } from '../media/media_view.ts';
import { CanvasView } from '../picture/canvas_view.tsx';
import { csvCell, download, downloadCanvas } from '../picture/download.ts';
import { paletteNow } from '../picture/palette.ts';
import { SvgSurface } from '../picture/surface.ts';
import { runColour } from '../runs/colours.ts';
import { RunName } from '../runs/run_name.tsx';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { prefixedNumber } from '../units/numbers.ts';
import { areaUnderRoc, averagePrecision, bestF1, type Point, type PrTable, pointsOf } from './pr_curve.ts';
import { type CurveKind, drawCurves, nearestPoint, plotBox } from './pr_curve_draw.ts';
import { useTables } from './pr_tables.ts';

const curveKind = urlSignal<CurveKind>('pr', choice<CurveKind>('pr', 'roc'), 'pr');
/** The threshold that is read out, on all cards. */
const threshold = urlSignal('threshold', number, 0.5);

const MOST_RUNS = 50;
const KINDS: [CurveKind, string][] = [
  ['pr', 'Precision–recall'],
  ['roc', 'ROC'],
];

export default function PrCurveCard({ tag, runs, width, height }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { tables, failure, nothing, said } = useTables(
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
  const curves = useMemo(
    () =>
      step === null
        ? []
        : shown.flatMap((run) => {
            const list = tables.get(run.id) ?? [];
            const at = nearestIndex(
              list.map((t) => t.step),
              step,
            );
            return at < 0
              ? []
              : [{ run, table: list[at]!, points: pointsOf(list[at]!), colour: runColour(run) }];
          }),
    [tables, step, shown.map((run) => `${run.id} ${runColour(run)}`).join()],
  );
  const side = width > 460 ? Math.min(330, width * 0.48) : 0;
  const w = width - side;
  const tableHeight = side ? 0 : Math.min(26 + 22 * curves.length, 120);
  const left = [runs.length > shown.length ? `${shown.length} of ${runs.length} runs` : '', said].filter(
    Boolean,
  );
  const h = Math.max(100, height - 66 - tableHeight - (left.length ? 20 : 0));
  const draw = useMemo(
    () => (on: CanvasRenderingContext2D) =>
      drawCurves(on, curves, { kind, width: w, height: h, threshold: threshold.value }, palette),
    [curves, kind, w, h, threshold.value, palette.surface],
  );
  const root = useRef<HTMLDivElement>(null);
  const frame = useCardFrame();
  useEffect(() => {
    frame.setMenu([
      { text: 'Save points as CSV', run: () => download(`${tag.name}.csv`, curvesCsv(curves), 'text/csv') },
      {
        text: 'Save picture as SVG',
        run: () => {
          const svg = new SvgSurface(w, h);
          drawCurves(svg, curves, { kind, width: w, height: h, threshold: threshold.value }, palette);
          download(`${tag.name}.svg`, String(svg), 'image/svg+xml');
        },
      },
      {
        text: 'Save picture as PNG',
        run: () => downloadCanvas(`${tag.name}.png`, root.current!.querySelector('canvas')!),
      },
    ]);
  }, [curves, kind, w, h, palette.surface, threshold.value]);
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
          label={`${kind === 'pr' ? 'Precision over recall' : 'True over false positive rate'} of ${name}, ${curves.length} runs`}
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
        <ReadOut curves={curves} step={step} height={tableHeight || h} />
      </div>
      {left.length > 0 && <p class="card-foot faint">{left.join(' · ')}</p>}
      {step !== null && (
        <StepBar
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

interface CurveOfRun {
  run: Run;
  table: PrTable;
  points: Point[];
  colour: string;
}

function ReadOut({ curves, step, height }: { curves: CurveOfRun[]; step: number | null; height: number }) {
  const percent = (value: number) => (Number.isNaN(value) ? '–' : value.toFixed(3));
  return (
    <div class="pr-table" style={{ height: `${height}px` }}>
      <table>
        <thead>
          <tr>
            <th scope="col">run</th>
            <th scope="col" title="Precision at the threshold">
              prec.
            </th>
            <th scope="col" title="Recall at the threshold">
              recall
            </th>
            <th scope="col" title="F1 at the threshold; pointing tells the best">
              F1
            </th>
            <th scope="col" title="Average precision">
              AP
            </th>
            <th scope="col" title="Area under the ROC curve">
              AUC
            </th>
          </tr>
        </thead>
        <tbody>
          {curves.map(({ run, points, table }) => {
            const at = points[Math.round(threshold.value * (points.length - 1))];
            const best = bestF1(points);
            if (!at) return null;
            return (
              <tr
                key={run.id}
                title={`tp ${prefixedNumber(at.tp)}, fp ${prefixedNumber(at.fp)}, tn ${prefixedNumber(at.tn)}, fn ${prefixedNumber(at.fn)}`}
              >
                <th scope="row">
                  <RunName run={run} />
                  {table.step !== step && <span class="faint"> {table.step}</span>}
                </th>
                <td>{percent(at.precision)}</td>
                <td>{percent(at.recall)}</td>
                <td title={best ? `best ${best.f1.toFixed(3)} at ${best.threshold.toFixed(3)}` : ''}>
                  {percent(at.f1)}
                </td>
                <td>{percent(averagePrecision(points))}</td>
                <td>{percent(areaUnderRoc(points))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function curvesCsv(curves: CurveOfRun[]): string {
  const lines = ['run,step,threshold,tp,fp,tn,fn,precision,recall'];
  for (const { run, table, points } of curves) {
    for (const p of points) {
      const cells = [p.threshold, p.tp, p.fp, p.tn, p.fn, p.precision, p.recall];
      lines.push([csvCell(run.name), table.step, ...cells].join(','));
    }
  }
  return `${lines.join('\n')}\n`;
}
