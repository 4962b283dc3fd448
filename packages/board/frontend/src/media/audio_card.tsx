/** The card of a tag of sounds: for each run a waveform and a player, for every step. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { messageOf } from '../api/error_message.ts';
import type { Run } from '../api/types.ts';
import type { CardProps } from '../cards/card.ts';
import { chosenStep, unionOfSteps } from '../cards/card_choice.ts';
import { useCardFrame } from '../cards/card_frame.tsx';
import { StepBar } from '../cards/step_bar.tsx';
import { CanvasView } from '../picture/canvas_view.tsx';
import { fileName } from '../picture/download.ts';
import { paletteNow } from '../picture/palette.ts';
import { runColour } from '../runs/colours.ts';
import { RunName } from '../runs/run_name.tsx';
import { nearestStep } from '../state/nearest_step.ts';
import { stepCursor } from '../state/selection.ts';
import { safeText } from '../strings/safe_text.ts';
import { playerTime } from '../units/durations.ts';
import {
  type BlobItem,
  blobUrl,
  fetchItem,
  itemsOf,
  type Place,
  placeKey,
  placeNear,
  useRows,
} from './blob_rows.ts';
import { fileEnding } from './media_types.ts';
import { choiceOf, setChoice } from './media_view.ts';
import { waveform } from './waveform.ts';

const MOST_RUNS = 6;
const WAVE_HEIGHT = 64;
const MOST_DECODED_BYTES = 32e6;

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
  const frame = useCardFrame();
  const key = places.map(placeKey).join();
  useEffect(() => {
    let here = true;
    void Promise.all(
      places.map(async (place) => {
        const run = shown.find((one) => one.id === place.run)!;
        const items = await itemsOf(place);
        return items.map((item) => {
          const which = items.length > 1 ? `, sample ${item.sample + 1}` : '';
          const ending = fileEnding(item.mime);
          return {
            text: `Save the sound of ${safeText(run.name, 60)}${which}`,
            hint: ending,
            href: blobUrl(item),
            download: fileName(
              `${tag.name}_${run.name}_${place.step}${items.length > 1 ? `_${item.sample + 1}` : ''}.${ending}`,
            ),
          };
        });
      }),
    ).then(
      (menu) => here && frame.setMenu(menu.flat()),
      () => here && frame.setMenu([]),
    );
    return () => {
      here = false;
    };
  }, [key]);
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
        <StepBar
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

function Sound({
  item,
  place,
  onRenewed,
  colour,
  label,
  width,
}: {
  item: BlobItem;
  place: Place;
  /** The name that the item had no longer holds. */
  onRenewed: (item: BlobItem) => void;
  colour: string;
  label: string;
  width: number;
}) {
  const player = useRef<HTMLAudioElement>(null);
  const [buffer, setBuffer] = useState<AudioBuffer | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    let here = true;
    setBuffer(null);
    setFailure(null);
    setAt(0);
    // Another sound does not play on by itself, and its element says nothing of it.
    setPlaying(false);
    decode(place, item).then(
      (decoded) => {
        if (!here) return;
        setBuffer(decoded.buffer);
        if (decoded.item.id !== item.id) onRenewed(decoded.item);
      },
      (error) => here && setFailure(messageOf(error)),
    );
    return () => {
      here = false;
    };
  }, [item.id]);
  useEffect(() => {
    if (!playing) return;
    let frame = requestAnimationFrame(function tick() {
      setAt(player.current?.currentTime ?? 0);
      frame = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing]);

  const palette = paletteNow();
  const seconds = buffer?.duration ?? item.seconds ?? 0;
  const waveWidth = Math.max(40, width - 44);
  const waves = useMemo(
    () => (buffer ? channelsOf(buffer).map((samples) => waveform(samples, Math.round(waveWidth))) : []),
    [buffer, waveWidth],
  );
  const draw = useMemo(
    () => (on: CanvasRenderingContext2D) => {
      on.clearRect(0, 0, waveWidth, WAVE_HEIGHT);
      const lane = WAVE_HEIGHT / Math.max(1, waves.length);
      waves.forEach(({ low, high }, channel) => {
        const middle = lane * (channel + 0.5);
        on.fillStyle = palette.grid;
        on.fillRect(0, Math.round(middle), waveWidth, 1);
        const played = seconds > 0 ? (at / seconds) * waveWidth : 0;
        for (let x = 0; x < low.length; x++) {
          const top = middle - high[x]! * lane * 0.48;
          const bottom = middle - low[x]! * lane * 0.48;
          on.globalAlpha = x <= played || at === 0 ? 1 : 0.4;
          on.fillStyle = colour;
          on.fillRect(x, top, 1, Math.max(1, bottom - top));
        }
        on.globalAlpha = 1;
      });
      if (at > 0 && seconds > 0) {
        on.fillStyle = palette.text;
        on.fillRect(Math.round((at / seconds) * waveWidth), 0, 1, WAVE_HEIGHT);
      }
    },
    [waves, at, colour, palette.surface, seconds, waveWidth],
  );
  const seek = (to: number) => {
    if (!player.current) return;
    player.current.currentTime = Math.max(0, Math.min(seconds, to));
    setAt(player.current.currentTime);
  };
  const toggle = () => {
    const element = player.current;
    if (!element) return;
    if (element.paused) void element.play().catch(() => setFailure('the browser cannot play this'));
    else element.pause();
  };
  const rate = item.sample_rate ? `${Math.round(item.sample_rate)} Hz` : '';
  return (
    <div class="sound">
      {/* biome-ignore lint/a11y/useMediaCaption: the sounds of a log come without words */}
      <audio
        ref={player}
        src={blobUrl(item)}
        preload="none"
        onPlay={() => setPlaying(true)}
        onPause={() => setPlaying(false)}
        onEnded={() => setPlaying(false)}
      />
      <button
        type="button"
        class="play"
        aria-label={`${playing ? 'Pause' : 'Play'} ${label}, sample ${item.sample + 1}`}
        onClick={toggle}
      >
        <span class={playing ? 'sign-pause' : 'sign-play'} />
      </button>
      <div>
        <CanvasView
          class="wave"
          width={waveWidth}
          height={WAVE_HEIGHT}
          draw={draw}
          label={`Waveform of ${label}, ${playerTime(seconds)} long. Arrow keys seek.`}
          onPress={(x) => seek((x / waveWidth) * seconds)}
          onKey={(event) => {
            if (event.key === 'ArrowRight') seek(at + 1);
            else if (event.key === 'ArrowLeft') seek(at - 1);
            else if (event.key === ' ') toggle();
            else return;
            event.preventDefault();
          }}
        />
        <div class="sound-foot">
          <span>
            {playerTime(at)} / {playerTime(seconds)}
          </span>
          <span class="faint">
            {failure ??
              [item.label && safeText(item.label, 120), rate, item.mime].filter(Boolean).join(' · ')}
          </span>
        </div>
      </div>
    </div>
  );
}

function channelsOf(buffer: AudioBuffer): Float32Array[] {
  return Array.from({ length: Math.min(2, buffer.numberOfChannels) }, (_, i) => buffer.getChannelData(i));
}

async function decode(place: Place, asked: BlobItem): Promise<{ item: BlobItem; buffer: AudioBuffer }> {
  if (asked.bytes > MOST_DECODED_BYTES) throw new Error('too long for a waveform; it can be played');
  const { item, blob } = await fetchItem(place, asked.sample);
  const bytes = await blob.arrayBuffer();
  try {
    // Decoding at the sound's own rate keeps its samples as they are.
    const rate = Math.min(192_000, Math.max(8000, Math.round(item.sample_rate || 44_100)));
    return { item, buffer: await new OfflineAudioContext(1, 1, rate).decodeAudioData(bytes) };
  } catch {
    throw new Error(`the ${item.mime} of ${item.bytes} bytes cannot be decoded`);
  }
}
