/** The card of a tag of texts: each run's at a step, a search through all steps, or what changed. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { messageOf } from '../api/error_message.ts';
import type { Run } from '../api/types.ts';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, unionOfSteps } from '../cards/card_choice.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { CardStepBar } from '../cards/card_step_bar.tsx';
import { ToolBar, ToolChoice, ToolToggle } from '../controls/tool_bar.tsx';
import { type Place, placeKey, placeNear, useRows } from '../media/blob_rows.ts';
import { choiceOf, setChoice } from '../media/media_view.ts';
import { PartnerBar } from '../media/partner_bar.tsx';
import { RunName } from '../runs/run_name.tsx';
import { nearestStep } from '../state/nearest_step.ts';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { TextBody } from './text_body.tsx';
import { TextDiff } from './text_diff.tsx';
import { textMenu } from './text_downloads.ts';
import { TextHits } from './text_hits.tsx';
import { type TextRow, textOf } from './text_rows.ts';
import { type TextMode, textDiff, textMode } from './text_view.ts';

const MOST_RUNS = 20;
const MODES: [TextMode, string][] = [
  ['markdown', 'Markdown'],
  ['plain', 'Plain'],
  ['raw', 'Raw'],
];

export default function TextCard({ tag, runs, height }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { rows, failure, nothing } = useRows(
    tag.id,
    shown.map((run) => run.id),
  );
  const [search, setSearch] = useState('');
  const choice = choiceOf(tag.name);
  const steps = useMemo(() => unionOfSteps([...rows.values()].map((r) => r.steps)), [rows]);
  const step = chosenStep(steps, choice.step, stepCursor.value);
  const name = safeText(tag.name, 120);
  const first = shown[0] && rows.get(shown[0].id);
  const partner = shown.find((run) => run.name === choice.otherRun) ?? shown[1] ?? shown[0];
  const partnerRows = partner && rows.get(partner.id);
  const partnerStep = choice.otherStep ?? (shown.length > 1 && step !== null ? step : (steps[0] ?? 0));
  const partnerPlace = partner ? placeNear(partner.id, tag.id, partnerRows, partnerStep) : null;
  const comparing = textDiff.value && partner && partnerRows && partnerPlace;
  const before = useText(comparing ? partnerPlace : null);
  const frame = useCardFrame();
  const places =
    step === null ? [] : shown.flatMap((run) => placeNear(run.id, tag.id, rows.get(run.id), step) ?? []);
  useEffect(
    () => frame.setMenu(textMenu(tag, shown, places)),
    [tag.id, shown.map((run) => run.id).join(), places.map(placeKey).join()],
  );
  const toStep = (next: number) => setChoice(tag.name, { step: next });
  return (
    <div>
      <ToolBar label={`View of ${name}`}>
        <ToolChoice
          label="Mode"
          value={textMode.value}
          options={MODES}
          onChange={(v) => (textMode.value = v)}
        />
        <ToolToggle label="What changed" on={textDiff.value} onChange={(v) => (textDiff.value = v)}>
          diff
        </ToolToggle>
        <span class="grow" />
        <input
          type="search"
          class="tool-search"
          placeholder="Search all steps"
          aria-label={`Search the texts of ${name}`}
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      </ToolBar>
      {comparing && !search && (
        <PartnerBar
          runs={shown}
          run={partner}
          steps={partnerRows.steps}
          step={partnerPlace.step}
          mode="off"
          gain={1}
          wipe={0}
          onRun={(otherRun) => setChoice(tag.name, { otherRun })}
          onStep={(otherStep) => setChoice(tag.name, { otherStep })}
          onGain={() => {}}
          onWipe={() => {}}
        />
      )}
      {failure && rows.size === 0 && (
        <p class="card-note" role="alert">
          {failure}
        </p>
      )}
      <section
        class="text-scroll"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts are scrolled by keys
        tabIndex={0}
        aria-label={`Texts of ${name}`}
        style={{ height: `${Math.max(80, height - 66 - (comparing && !search ? 34 : 0))}px` }}
      >
        {search ? (
          <TextHits search={search} tag={tag.id} runs={shown} onStep={toStep} />
        ) : nothing ? (
          <p class="card-note">{nothing}</p>
        ) : (
          places.map((place) => {
            const run = shown.find((one) => one.id === place.run)!;
            return (
              <RunText
                key={run.id}
                run={run}
                place={place}
                titled={shown.length > 1 || place.step !== step}
                against={comparing ? before : undefined}
              />
            );
          })
        )}
        {runs.length > shown.length && (
          <p class="faint">
            {shown.length} of {runs.length} runs
          </p>
        )}
      </section>
      {step !== null && (
        <CardStepBar
          label={`Step of ${name}`}
          steps={steps}
          step={step}
          own={choice.step !== undefined}
          wall={first ? (first.walls[nearestStep(first.steps, step)] ?? null) : null}
          firstWall={first?.walls[0] ?? null}
          onStep={toStep}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
    </div>
  );
}

interface RunTextProps {
  run: Run;
  place: Place;
  titled: boolean;
  /** What it is compared with. */
  against?: FoundText | undefined;
}

function RunText({ run, place, titled, against }: RunTextProps) {
  const { text, failure } = useText(place);
  return (
    <section class="run-text">
      {titled && (
        <div class="run-text-title">
          <RunName run={run} /> <span class="faint">step {place.step}</span>
        </div>
      )}
      {failure !== null || against?.failure ? (
        <p class="card-note" role="alert">
          The server did not respond: {safeText(failure ?? against?.failure ?? '', 200)}
        </p>
      ) : text === undefined || (against && against.text === undefined) ? (
        <p class="faint">…</p>
      ) : text === null || !text.readable ? (
        <p class="faint">this record cannot be read</p>
      ) : against ? (
        <TextDiff before={against.text?.values.join('\n') ?? ''} after={text.values.join('\n')} />
      ) : (
        <TextBody values={text.values} shape={text.shape} mode={textMode.value} search="" />
      )}
      {text?.cut && <p class="faint">Cut here: the text is longer than the page shows.</p>}
    </section>
  );
}

interface FoundText {
  /** undefined while it is not there yet; what was there before stays so long. null: the file has lost it. */
  text: TextRow | null | undefined;
  failure: string | null;
}

function useText(place: Place | null): FoundText {
  const [found, set] = useState<FoundText>({ text: undefined, failure: null });
  const key = place && placeKey(place);
  useEffect(() => {
    if (!place) return;
    let here = true;
    textOf(place).then(
      (text) => here && set({ text, failure: null }),
      (error) => here && set({ text: undefined, failure: messageOf(error) }),
    );
    return () => {
      here = false;
    };
  }, [key]);
  return found;
}
