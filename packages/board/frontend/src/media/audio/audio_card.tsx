/** The card of a tag of sounds: for each run a waveform and a player, for every step. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import type { Run, Tag } from '../../api/types.ts';
import type { CardProps } from '../../cards/card.ts';
import { chosenStep, unionOfSteps } from '../../cards/card_choice.ts';
import { type MenuItem, useCardFrame } from '../../cards/card_frame.tsx';
import { CardStepBar } from '../../cards/card_step_bar.tsx';
import { fileName } from '../../picture/download.ts';
import { runColour } from '../../runs/colours.ts';
import { RunName } from '../../runs/run_name.tsx';
import { nearestStep } from '../../state/nearest_step.ts';
import { runTitle } from '../../state/run_title.ts';
import { stepCursor } from '../../state/selection.ts';
import { safeText } from '../../strings/safe_text.ts';
import { type BlobItem, blobUrl, itemsOf, type Place, placeKey, placeNear, useRows } from '../blob_rows.ts';
import { fileEnding } from '../media_types.ts';
import { choiceOf, setChoice } from '../media_view.ts';
import { Sound } from './sound.tsx';

const MOST_RUNS = 6;

export default function AudioCard({ tag, runs, width }: CardProps) {
  const shown = runs.slice(0, MOST_RUNS);
  const { rows, failure, nothing } = useRows(
    tag.id,
    shown.map((run) => run.id),
  );
  const choice = choiceOf(tag.name);
  const steps = useMemo(() => unionOfSteps([...rows.values()].map((r) => r.steps)), [rows]);
  const step = chosenStep(steps, choice.step, stepCursor.value);
  const name = safeText(tag.name, 120);
  const first = shown[0] && rows.get(shown[0].id);
  const places =
    step === null ? [] : shown.flatMap((run) => placeNear(run.id, tag.id, rows.get(run.id), step) ?? []);
  useAudioMenu(tag, shown, places);
  if (failure && rows.size === 0) {
    return (
      <p class="card-note" role="alert">
        {failure}
      </p>
    );
  }
  return (
    <div class="audio-card">
      {places.map((place) => {
        const run = shown.find((one) => one.id === place.run)!;
        return (
          <Sounds
            key={run.id}
            run={run}
            place={place}
            name={name}
            width={width - 16}
            titled={shown.length > 1 || place.step !== step}
          />
        );
      })}
      {nothing && <p class="card-note">{nothing}</p>}
      {step !== null && (
        <CardStepBar
          label={`Step of ${name}`}
          steps={steps}
          step={step}
          own={choice.step !== undefined}
          wall={first ? (first.walls[nearestStep(first.steps, step)] ?? null) : null}
          firstWall={first?.walls[0] ?? null}
          onStep={(next) => setChoice(tag.name, { step: next })}
          onFollow={() => setChoice(tag.name, { step: undefined })}
        />
      )}
      {runs.length > shown.length && (
        <p class="card-foot faint">
          {shown.length} of {runs.length} runs
        </p>
      )}
    </div>
  );
}

/** Puts a download of each sound into the card's menu. */
function useAudioMenu(tag: Tag, runs: Run[], places: Place[]): void {
  const frame = useCardFrame();
  useEffect(() => {
    let here = true;
    void Promise.all(places.map((place) => downloadsAt(tag, runs, place))).then(
      (items) => here && frame.setMenu(items.flat()),
      () => here && frame.setMenu([]),
    );
    return () => {
      here = false;
    };
  }, [places.map(placeKey).join()]);
}

async function downloadsAt(tag: Tag, runs: Run[], place: Place): Promise<MenuItem[]> {
  const run = runs.find((one) => one.id === place.run)!;
  const items = await itemsOf(place);
  return items.map((item) => {
    const ending = fileEnding(item.mime);
    const sample = items.length > 1 ? `_${item.sample + 1}` : '';
    return {
      text: `Save the sound of ${safeText(runTitle(run.name), 60)}${items.length > 1 ? `, sample ${item.sample + 1}` : ''}`,
      hint: ending,
      href: blobUrl(item),
      download: fileName(`${tag.name}_${runTitle(run.name)}_${place.step}${sample}.${ending}`),
    };
  });
}

interface SoundsProps {
  run: Run;
  place: Place;
  name: string;
  width: number;
  titled: boolean;
}

function Sounds({ run, place, name, width, titled }: SoundsProps) {
  const [items, set] = useState<BlobItem[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const { step } = place;
  const key = placeKey(place);
  useEffect(() => {
    let here = true;
    itemsOf(place).then(
      (found) => {
        if (!here) return;
        set(found);
        setFailure(null);
      },
      (error) => here && setFailure(messageOf(error)),
    );
    return () => {
      here = false;
    };
  }, [key]);
  return (
    <section class="sounds">
      {titled && (
        <div class="sounds-title">
          <RunName run={run} /> <span class="faint">step {step}</span>
        </div>
      )}
      {failure && (
        <p class="card-note" role="alert">
          {failure}
        </p>
      )}
      {items.map((item) => (
        <Sound
          key={item.sample}
          item={item}
          place={place}
          onRenewed={(renewed) =>
            set((old) => old.map((one) => (one.sample === renewed.sample ? renewed : one)))
          }
          colour={runColour(run)}
          label={`${name}, step ${step}`}
          width={width}
        />
      ))}
    </section>
  );
}
