/** Draws the waveforms of a sound's channels below each other, and how much of it was played. */
import type { Palette } from '../../picture/palette.ts';
import type { Waveform } from './waveform.ts';

interface Look {
  width: number;
  height: number;
  colour: string;
  palette: Palette;
  /** How much was played, from 0 to 1. */
  played: number;
}

export function drawWaveform(
  on: CanvasRenderingContext2D,
  channels: Waveform[],
  { width, height, colour, palette, played }: Look,
): void {
  on.clearRect(0, 0, width, height);
  const cursor = played * width;
  const channelHeight = height / Math.max(1, channels.length);
  channels.forEach(({ low, high }, channel) => {
    const middle = channelHeight * (channel + 0.5);
    on.fillStyle = palette.grid;
    on.fillRect(0, Math.round(middle), width, 1);
    for (let x = 0; x < low.length; x++) {
      const top = middle - high[x]! * channelHeight * 0.48;
      const bottom = middle - low[x]! * channelHeight * 0.48;
      on.globalAlpha = x <= cursor || played === 0 ? 1 : 0.4;
      on.fillStyle = colour;
      on.fillRect(x, top, 1, Math.max(1, bottom - top));
    }
    on.globalAlpha = 1;
  });
  if (played === 0) return;
  on.fillStyle = palette.text;
  on.fillRect(Math.round(cursor), 0, 1, height);
}
