/** Converts OKLCH to sRGB (Ottosson 2020), so that hues have equal lightness, as text for canvas and SVG. */

export function oklch(lightness: number, chroma: number, hue: number): string {
  // Chroma is reduced until the colour is within the sRGB gamut.
  for (let c = chroma; ; c -= 0.01) {
    const rgb = convert(lightness, Math.max(0, c), hue);
    if (c <= 0 || rgb.every((v) => v >= -0.001 && v <= 1.001)) {
      return `#${rgb.map((v) => hex(v)).join('')}`;
    }
  }
}

function convert(lightness: number, chroma: number, hue: number): number[] {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((v) => (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
}

function hex(v: number): string {
  return Math.round(Math.min(1, Math.max(0, v)) * 255)
    .toString(16)
    .padStart(2, '0');
}
