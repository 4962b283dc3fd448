/** A sound as a picture: the least and greatest sample of each pixel column. */

export interface Waveform {
  low: Float32Array;
  high: Float32Array;
}

/** Every sample counts in exactly one column; a column without samples shows the one that comes next. */
export function waveform(samples: Float32Array, columns: number): Waveform {
  const low = new Float32Array(columns);
  const high = new Float32Array(columns);
  for (let column = 0; column < columns; column++) {
    const from = Math.floor((column * samples.length) / columns);
    const to = Math.floor(((column + 1) * samples.length) / columns);
    if (to <= from) {
      const at = samples[Math.min(from, samples.length - 1)] ?? 0;
      low[column] = at;
      high[column] = at;
      continue;
    }
    let least = Infinity;
    let most = -Infinity;
    for (let i = from; i < to; i++) {
      const value = samples[i]!;
      if (value < least) least = value;
      if (value > most) most = value;
    }
    low[column] = least;
    high[column] = most;
  }
  return { low, high };
}

/** 0:03.2 or 1:02:07.0 */
export function playTime(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '–';
  const tenths = Math.round(seconds * 10);
  const whole = Math.floor(tenths / 10);
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}.${tenths % 10}`;
}
