/** One sound: a button that plays it, its waveform, and where it is. */
import { useMemo } from 'preact/hooks';
import { CanvasView } from '../../picture/canvas_view.tsx';
import { paletteNow } from '../../picture/palette.ts';
import { safeText } from '../../strings/safe_text.ts';
import { playerTime } from '../../units/durations.ts';
import { type BlobItem, blobUrl, type Place } from '../blob_rows.ts';
import { drawWaveform } from './draw_waveform.ts';
import { useSoundPlayer } from './sound_player.ts';
import { waveform } from './waveform.ts';

const WAVE_HEIGHT = 64;
const LEAST_WAVE_WIDTH = 40;
/** The play button and its margin, in CSS pixels. */
const BUTTON_WIDTH = 44;
const MOST_CHANNELS = 2;

interface Props {
  item: BlobItem;
  place: Place;
  /** The item's id is no longer valid: this is the item with its new one. */
  onRenewed: (item: BlobItem) => void;
  colour: string;
  label: string;
  width: number;
}

export function Sound({ item, place, onRenewed, colour, label, width }: Props) {
  const player = useSoundPlayer(place, item, onRenewed);
  const { buffer, seconds, at, playing, failure, setPlaying, seek, toggle } = player;
  const palette = paletteNow();
  const waveWidth = Math.max(LEAST_WAVE_WIDTH, width - BUTTON_WIDTH);
  const channels = useMemo(
    () => (buffer ? channelsOf(buffer).map((samples) => waveform(samples, Math.round(waveWidth))) : []),
    [buffer, waveWidth],
  );
  const draw = useMemo(() => {
    const played = seconds > 0 ? at / seconds : 0;
    return (on: CanvasRenderingContext2D) =>
      drawWaveform(on, channels, { width: waveWidth, height: WAVE_HEIGHT, colour, palette, played });
  }, [channels, at, colour, palette.surface, seconds, waveWidth]);
  const rate = item.sample_rate ? `${Math.round(item.sample_rate)} Hz` : '';
  return (
    <div class="sound">
      {/* biome-ignore lint/a11y/useMediaCaption: the sounds of a log come without words */}
      <audio
        ref={player.element}
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
  const channels = Math.min(MOST_CHANNELS, buffer.numberOfChannels);
  return Array.from({ length: channels }, (_, i) => buffer.getChannelData(i));
}
