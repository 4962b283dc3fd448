/** A sound of a log: its samples for the waveform, and the player that plays it. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { messageOf } from '../../api/error_message.ts';
import { type BlobItem, fetchItem, type Place } from '../blob_rows.ts';

/** Longer sounds have no waveform. */
const MOST_DECODED_BYTES = 32e6;

export interface SoundPlayer {
  element: RefObject<HTMLAudioElement | null>;
  /** The decoded sound; null until it is there. */
  buffer: AudioBuffer | null;
  seconds: number;
  /** The position, in seconds. */
  at: number;
  playing: boolean;
  failure: string | null;
  setPlaying(playing: boolean): void;
  seek(to: number): void;
  toggle(): void;
}

/** `onRenewed` is called where the item's id is no longer valid and another one was fetched. */
export function useSoundPlayer(
  place: Place,
  item: BlobItem,
  onRenewed: (item: BlobItem) => void,
): SoundPlayer {
  const element = useRef<HTMLAudioElement>(null);
  const [buffer, setBuffer] = useState<AudioBuffer | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const seconds = buffer?.duration ?? item.seconds ?? 0;

  useEffect(() => {
    let here = true;
    setBuffer(null);
    setFailure(null);
    setAt(0);
    // The element stops when its source changes, and sends no event about it.
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
      setAt(element.current?.currentTime ?? 0);
      frame = requestAnimationFrame(tick);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing]);

  const seek = (to: number) => {
    if (!element.current) return;
    element.current.currentTime = Math.max(0, Math.min(seconds, to));
    setAt(element.current.currentTime);
  };
  const toggle = () => {
    const player = element.current;
    if (!player) return;
    if (player.paused) void player.play().catch(() => setFailure('the browser cannot play this'));
    else player.pause();
  };
  return { element, buffer, seconds, at, playing, failure, setPlaying, seek, toggle };
}

async function decode(place: Place, requested: BlobItem): Promise<{ item: BlobItem; buffer: AudioBuffer }> {
  if (requested.bytes > MOST_DECODED_BYTES) throw new Error('too long for a waveform, but it can be played');
  const { item, blob } = await fetchItem(place, requested.sample);
  const bytes = await blob.arrayBuffer();
  try {
    // Decoding at the sound's own rate keeps its samples as they are.
    const rate = Math.min(192_000, Math.max(8000, Math.round(item.sample_rate || 44_100)));
    return { item, buffer: await new OfflineAudioContext(1, 1, rate).decodeAudioData(bytes) };
  } catch {
    throw new Error(`the ${item.mime} of ${item.bytes} bytes cannot be decoded`);
  }
}
