/** A sound as a picture: the least and greatest sample of each pixel column. */

export interface Waveform {
  low: Float32Array;
  high: Float32Array;
}

/** Every sample counts in exactly one column; a column without samples shows the next one. */
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
