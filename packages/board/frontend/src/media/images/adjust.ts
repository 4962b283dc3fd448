/** Brightness, contrast and differences of pixels, exact to a level. */

export interface Adjustment {
  /** Factor of all levels; 1 leaves them. */
  brightness: number;
  /** Factor of the distance from middle grey; 1 leaves it. */
  contrast: number;
}

/** The new level of each of 256: first contrast, then brightness, each clipped, as CSS filters do. */
export function levels({ brightness, contrast }: Adjustment): Uint8ClampedArray {
  const table = new Uint8ClampedArray(256);
  for (let level = 0; level < 256; level++) {
    const contrasted = Math.max(0, Math.min(255, (level - 127.5) * contrast + 127.5));
    table[level] = contrasted * brightness;
  }
  return table;
}

export function isNeutral({ brightness, contrast }: Adjustment): boolean {
  return brightness === 1 && contrast === 1;
}

/** Applies levels to the colours of RGBA pixels, in place; alpha stays. */
export function applyLevels(pixels: Uint8ClampedArray, table: Uint8ClampedArray): void {
  for (let i = 0; i < pixels.length; i += 4) {
    pixels[i] = table[pixels[i]!]!;
    pixels[i + 1] = table[pixels[i + 1]!]!;
    pixels[i + 2] = table[pixels[i + 2]!]!;
  }
}

export interface Difference {
  /** Mean of |a - b| over colours and pixels, in levels. */
  mean: number;
  /** The greatest. */
  most: number;
  /** Pixels that differ at all. */
  pixels: number;
}

/** Writes gain * |a - b| into a, opaque. Returns: how much they differ. */
export function subtract(a: Uint8ClampedArray, b: Uint8ClampedArray, gain: number): Difference {
  let sum = 0;
  let most = 0;
  let pixels = 0;
  for (let i = 0; i < a.length; i += 4) {
    let here = 0;
    for (let c = 0; c < 3; c++) {
      const away = Math.abs(a[i + c]! - b[i + c]!);
      sum += away;
      if (away > here) here = away;
      a[i + c] = away * gain;
    }
    a[i + 3] = 255;
    if (here > most) most = here;
    if (here) pixels++;
  }
  return { mean: a.length ? sum / (a.length * 0.75) : 0, most, pixels };
}
