/** The card of a tag of images: every step of each run, alone, side by side or compared. */
import { useRef, useState } from 'preact/hooks';
import type { CardProps } from '../../cards/card.ts';
import { ALL_SAMPLES } from '../../cards/card_choice.ts';
import { CardStepBar } from '../../cards/card_step_bar.tsx';
import { safeText } from '../../strings/safe_text.ts';
import { useExposed } from '../../testing/test_hook.ts';
import { choiceOf, compare, lookOf, setChoice } from '../media_view.ts';
import { PartnerBar } from '../partner_bar.tsx';
import { imageKeys } from './image_keys.ts';
import { useImageMenu } from './image_menu.ts';
import type { PaneState } from './image_pane.tsx';
import { ImageTiles, MOST_SAMPLES } from './image_tiles.tsx';
import { ImageTools } from './image_tools.tsx';
import { useImagePanes, usePaneStates } from './use_image_panes.ts';

const MOST_RUNS = 12;
/** Heights of parts of the card, in CSS pixels. */
const TOOLS = 32;
const STEPS = 34;
const FOOT = 20;

export default function ImageCard({ card, tag, runs, width, height }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const found = useImagePanes(tag, shown);
  const { rows, steps, step, sample, panes, drawn, partnerRun, partner, failure, nothing } = found;
  const { states, setState } = usePaneStates(drawn);
  const [pixel, setPixel] = useState<string | null>(null);
  const [wipe, setWipe] = useState(0.5);
  const [gain, setGain] = useState(4);
  const root = useRef<HTMLFieldSetElement>(null);
  const choice = choiceOf(tag.name);
  const mode = compare.value;
  const look = lookOf(tag.name);
  useImageMenu(tag, step, drawn, states, root);

  useExposed('images', card.id, () => ({
    id: card.id,
    tag: tag.name,
    step,
    steps: steps.length,
    own: choice.step !== undefined,
    panes: [...states].map(([run, state]) => ({ run, ...state })),
  }));

  const samples = Math.max(1, ...[...states.values()].map((state) => state.samples));
  const name = safeText(tag.name, 120);
  const firstRows = panes[0] && rows.get(panes[0].run.id);
  return (
    <fieldset
      class="image-card"
      ref={root}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys of the group change the step
      tabIndex={0}
      aria-label={`Images of ${name}`}
      onKeyDown={imageKeys({ tag: tag.name, steps, step, sample, samples })}
    >
      <ImageTools tag={tag.name} name={name} width={width} sample={sample} samples={samples} />
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
      <ImageTiles
        name={name}
        panes={drawn}
        step={step}
        samples={sample === ALL_SAMPLES ? samples : 1}
        withRunNames={shown.length > 1}
        width={width}
        height={Math.max(60, height - (mode === 'off' ? 0 : STEPS) - TOOLS - STEPS - FOOT)}
        common={{
          other: partner,
          mode,
          wipe,
          gain,
          adjustment: look,
          zoom: look.zoom,
          onWipe: setWipe,
          onPixel: setPixel,
        }}
        onState={setState}
      />
      {step !== null && (
        <CardStepBar
          label={`Step of ${name}`}
          steps={steps}
          step={step}
          own={choice.step !== undefined}
          wall={panes[0]?.requested.wall ?? null}
          firstWall={firstRows?.walls[0] ?? null}
          onStep={(next) => setChoice(tag.name, { step: next })}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
      <p class="card-foot" role="status">
        <ImageFoot
          state={states.values().next().value}
          pixel={pixel}
          more={[
            runs.length > shown.length ? `${shown.length} of ${runs.length} runs` : '',
            sample === ALL_SAMPLES && samples > MOST_SAMPLES ? `${MOST_SAMPLES} of ${samples} samples` : '',
          ]
            .filter(Boolean)
            .join(' · ')}
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

function ImageFoot({ state, pixel, more }: FootProps) {
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
