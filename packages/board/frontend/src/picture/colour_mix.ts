/** Mixing of colours for canvases and for SVG, which has no color-mix(). */

export type Rgb = [number, number, number];

/** Parses #rgb, #rrggbb, rgb(r g b) and hsl(h s% l%); null for anything else. */
export function parseColour(text: string): Rgb | null {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text)?.[1];
  if (hex) {
    const full = hex.length === 3 ? [...hex].map((c) => c + c).join('') : hex;
    return [0, 2, 4].map((at) => Number.parseInt(full.slice(at, at + 2), 16)) as Rgb;
  }
  const call = /^(rgb|hsl)a?\(([^)]*)\)$/i.exec(text);
  const parts = call?.[2]
    ?.split(/[\s,/]+/)
    .filter(Boolean)
    .map(Number.parseFloat);
  if (!parts || parts.length < 3 || parts.some(Number.isNaN)) return null;
  const [a, b, c] = parts as Rgb;
  return call![1]!.toLowerCase() === 'rgb' ? [a, b, c] : fromHsl(a, b / 100, c / 100);
}

function fromHsl(hue: number, saturation: number, lightness: number): Rgb {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** The colour that lies `share` of the way from one colour to another. */
export function mix(from: string, to: string, share: number): string {
  const a = parseColour(from);
  const b = parseColour(to);
  if (!a || !b) return share < 0.5 ? from : to;
  const at = Math.max(0, Math.min(1, share));
  return `rgb(${a.map((v, i) => Math.round(v + (b[i]! - v) * at)).join(',')})`;
}

/** Whether text on this background should be dark. */
export function isLight(colour: string): boolean {
  const [r, g, b] = parseColour(colour) ?? [255, 255, 255];
  return 0.299 * r + 0.587 * g + 0.114 * b > 150;
}
