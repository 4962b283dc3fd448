/** The card of a tag of images: every step of every run within reach, alone, side by side or compared. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run } from '../api/types.ts';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, unionOfSteps } from '../cards/card_choice.ts';
import { type MenuItem, useCardFrame } from '../cards/card_frame.tsx';
import { StepBar } from '../cards/step_bar.tsx';
import { ToolBar, ToolChoice } from '../controls/tool_bar.tsx';
import { downloadCanvas, fileName } from '../picture/download.ts';
import { RunName } from '../runs/run_name.tsx';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { blobUrl, placeNear, useRows } from './blob_rows.ts';
import { ImageAdjust } from './image_adjust.tsx';
import { ImagePane, type PaneState } from './image_pane.tsx';
import { pictureOf, type Wanted } from './image_store.ts';
import { exposeImages } from './image_test_hook.ts';
import { fileEnding } from './media_types.ts';
import { type Compare, choiceOf, compare, lookOf, setChoice, setLook } from './media_view.ts';
import { PartnerBar } from './partner_bar.tsx';
import { bestColumns, nextZoom, zoomChoices } from './tile_grid.ts';

const MOST_RUNS = 12;
const BAR = 32;
const FOOT = 20;
const TITLE = 20;
const GAP = 8;
const AHEAD = [1, -1, 2, -2];
const NARROW = 400;

const COMPARE: [Compare, string][] = [
  ['off', 'Plain'],
  ['wipe', 'Wipe'],
  ['difference', 'Difference'],
];

export default function ImageCard({ card, tag, runs, width, height }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { rows, failure, nothing } = useRows(
    tag.id,
    shown.map((run) => run.id),
  );
  const choice = choiceOf(tag.name);
  const steps = useMemo(() => unionOfSteps([...rows.values()].map((r) => r.steps)), [rows]);
  const step = chosenStep(steps, choice.step, stepCursor.value);
  const [states, setStates] = useState<Map<string, PaneState>>(new Map());
  const [pixel, setPixel] = useState<string | null>(null);
  const [wipe, setWipe] = useState(0.5);
  const [gain, setGain] = useState(4);
  const root = useRef<HTMLFieldSetElement>(null);
  const sample = choice.sample ?? 0;
  const mode = compare.value;

  const wantedOf = (run: Run, at: number): Wanted | null => {
    const place = placeNear(run.id, tag.id, rows.get(run.id), at);
    return place && { ...place, sample };
  };
  const here = step === null ? [] : shown.flatMap((run) => ({ run, wanted: wantedOf(run, step) }));
  const panes = here.filter((pane): pane is { run: Run; wanted: Wanted } => pane.wanted !== null);
  const partnerRun = shown.find((run) => run.name === choice.otherRun) ?? shown[1] ?? shown[0];
  const partnerStep = choice.otherStep ?? (shown.length > 1 && step !== null ? step : (steps[0] ?? 0));
  const partner = mode === 'off' || !partnerRun ? null : wantedOf(partnerRun, partnerStep);
  const others = partner
    ? panes.filter(({ wanted }) => wanted.run !== partner.run || wanted.row !== partner.row)
    : panes;
  const drawn = others.length ? others : panes.slice(0, 1);

  // The neighbours of what is shown are fetched ahead.
  useEffect(() => {
    if (step === null) return;
    const at = steps.indexOf(step);
    const timer = setTimeout(() => {
      for (const by of AHEAD) {
        const next = steps[at + by];
        if (next === undefined) continue;
        for (const run of shown.slice(0, 4)) {
          const wanted = wantedOf(run, next);
          if (wanted) void pictureOf(wanted).catch(() => undefined);
        }
      }
    }, 30);
    return () => clearTimeout(timer);
  }, [step, rows, sample]);

  useEffect(
    () =>
      exposeImages(card.id, () => ({
        tag: tag.name,
        step,
        steps: steps.length,
        own: choice.step !== undefined,
        states,
      })),
    [card.id, tag.name, step, steps, states, choice.step],
  );

  const frame = useCardFrame();
  const originals = drawn.flatMap(({ run, wanted }): MenuItem[] => {
    const item = states.get(run.name)?.item;
    if (!item) return [];
    const name = `${tag.name}_${run.name}_${wanted.step}.${fileEnding(item.mime)}`;
    const text =
      drawn.length > 1 ? `Save the file of ${safeText(run.name, 60)}` : 'Save the file as it was logged';
    return [{ text, hint: fileEnding(item.mime), href: blobUrl(item), download: fileName(name) }];
  });
  useEffect(() => {
    const pictures = drawn.map(({ run }, pane): MenuItem => {
      const one = drawn.length > 1 ? `the picture of ${safeText(run.name, 60)}` : 'the picture as shown';
      const canvas = () => root.current!.querySelectorAll<HTMLCanvasElement>('.image-pane canvas')[pane];
      return {
        text: `Save ${one}`,
        hint: 'png',
        run: () => {
          const found = canvas();
          if (found) downloadCanvas(`${tag.name}_${run.name}_${step}.png`, found);
        },
      };
    });
    frame.setMenu([...originals, ...pictures]);
  }, [tag.name, step, drawn.map(({ run }) => run.name).join(), JSON.stringify(originals)]);

  const bars = BAR + 34 + FOOT + (mode === 'off' ? 0 : 34);
  const room = Math.max(60, height - bars);
  const columns = bestColumns(drawn.length || 1, width, room);
  const tileRows = Math.ceil((drawn.length || 1) / columns);
  const tileW = Math.floor((width - GAP * (columns + 1)) / columns);
  const tileH = Math.max(48, Math.floor((room - GAP * tileRows) / tileRows) - TITLE);
  const samples = Math.max(1, ...[...states.values()].map((state) => state.samples));
  const first = states.values().next().value;
  const look = lookOf(tag.name);
  const scale = look.zoom || 1;
  const zoomTo = (zoom: number) => setLook(tag.name, { zoom });

  const toStep = (next: number) => setChoice(tag.name, { step: next });
  const by = (places: number) => {
    if (step === null) return;
    const next = steps[Math.max(0, Math.min(steps.length - 1, steps.indexOf(step) + places))];
    if (next !== undefined) toStep(next);
  };
  const onKey = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).closest('input, select, [role=radio], [role=menu]')) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const places = event.shiftKey ? 10 : 1;
    if (event.key === 'ArrowLeft') by(-places);
    else if (event.key === 'ArrowRight') by(places);
    else if (event.key === 'Home') by(-steps.length);
    else if (event.key === 'End') by(steps.length);
    else if (event.key === '+' || event.key === '=') zoomTo(nextZoom(scale, true));
    else if (event.key === '-') zoomTo(nextZoom(scale, false));
    else if (event.key === '0') zoomTo(0);
    else if (event.key === '1') zoomTo(1);
    else if (event.key === '[' && sample > 0) setChoice(tag.name, { sample: sample - 1 });
    else if (event.key === ']' && sample < samples - 1) setChoice(tag.name, { sample: sample + 1 });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const name = safeText(tag.name, 120);
  const firstRows = panes[0] && rows.get(panes[0].run.id);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys of the group change the step
    <fieldset class="image-card" ref={root} tabIndex={0} aria-label={`Images of ${name}`} onKeyDown={onKey}>
      <ToolBar label={`View of ${name}`}>
        <ToolChoice
          quiet={width < NARROW}
          label="Comparison"
          value={mode}
          options={COMPARE}
          onChange={(v) => (compare.value = v)}
        />
        <select
          class="tool"
          aria-label="Zoom"
          title="Zoom; keys + − 0 1"
          value={look.zoom}
          onChange={(event) => zoomTo(Number(event.currentTarget.value))}
        >
          {zoomChoices(look.zoom).map((one) => (
            <option key={one} value={one}>
              {one === 0 ? 'fit' : one === 1 ? 'actual size' : `${one}×`}
            </option>
          ))}
        </select>
        <ImageAdjust tag={tag.name} />
        {samples > 1 && (
          <label class="step-field">
            <select
              aria-label="Sample of the batch"
              class="tool"
              value={sample}
              onChange={(event) => setChoice(tag.name, { sample: Number(event.currentTarget.value) })}
            >
              {Array.from({ length: samples }, (_, i) => (
                <option key={String(i)} value={i}>
                  sample {i + 1} of {samples}
                </option>
              ))}
            </select>
          </label>
        )}
      </ToolBar>
      {mode !== 'off' && partner && partnerRun && (
        <PartnerBar
          runs={shown}
          run={partnerRun}
          steps={[...(rows.get(partnerRun.id)?.steps ?? [])]}
          step={partner.step}
          mode={mode}
          gain={gain}
          wipe={wipe}
          onRun={(otherRun) => setChoice(tag.name, { otherRun })}
          onStep={(otherStep) => setChoice(tag.name, { otherStep })}
          onGain={setGain}
          onWipe={setWipe}
        />
      )}
      {failure && panes.length === 0 && (
        <p class="card-note" role="alert">
          {failure}
        </p>
      )}
      {nothing && <p class="card-note">{nothing}</p>}
      <div class="image-tiles" style={{ minHeight: `${room}px` }}>
        {drawn.map(({ run, wanted }) => (
          <figure key={run.id} style={{ width: `${tileW}px` }}>
            {(shown.length > 1 || wanted.step !== step) && (
              <figcaption>
                <RunName run={run} />
                {wanted.step !== step && <span class="faint"> step {wanted.step}</span>}
              </figcaption>
            )}
            <ImagePane
              wanted={wanted}
              other={partner}
              mode={mode}
              wipe={wipe}
              gain={gain}
              adjustment={look}
              zoom={look.zoom}
              width={tileW}
              height={tileH}
              label={`${name}, run ${safeText(run.name, 120)}, step ${wanted.step}`}
              onState={(state) =>
                setStates((old) => {
                  const next = new Map([...old].filter(([key]) => drawn.some((d) => d.run.name === key)));
                  return next.set(run.name, state);
                })
              }
              onWipe={setWipe}
              onPixel={setPixel}
            />
          </figure>
        ))}
      </div>
      {step !== null && (
        <StepBar
          label={`Step of ${name}`}
          steps={steps}
          step={step}
          own={choice.step !== undefined}
          wall={panes[0]?.wanted.wall ?? null}
          firstWall={firstRows?.walls[0] ?? null}
          onStep={toStep}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
      <p class="card-foot" role="status">
        <Foot
          state={first}
          pixel={pixel}
          more={runs.length > shown.length ? `${shown.length} of ${runs.length} runs` : ''}
        />
      </p>
    </fieldset>
  );
}

interface FootProps {
  state: PaneState | undefined;
  pixel: string | null;
  more: string;
}

function Foot({ state, pixel, more }: FootProps) {
  if (!state || state.failure) return null;
  const { difference } = state;
  const parts = [`${state.width} × ${state.height}`];
  if (difference) {
    const pixels = difference.pixels === 1 ? '1 pixel differs' : `${difference.pixels} pixels differ`;
    parts.push(
      `${pixels}, on average by ${difference.mean.toFixed(2)}, at most by ${difference.most} levels`,
    );
  }
  if (pixel) parts.push(pixel);
  if (more) parts.push(more);
  return <span>{parts.join(' · ')}</span>;
}
