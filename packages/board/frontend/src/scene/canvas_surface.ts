/** Sizes a canvas to its element in device pixels, with a transform so that drawing uses CSS pixels. */

export function fitCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D {
  const ratio = Math.min(3, globalThis.devicePixelRatio || 1);
  const wide = Math.max(1, Math.round(width * ratio));
  const high = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext('2d')!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.globalAlpha = 1;
  return pen;
}

let measuring: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

/** The width of a text in a font, cached. */
export function textWidth(text: string, font: string): number {
  const key = `${font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    measuring ??= document.createElement('canvas').getContext('2d')!;
    measuring.font = font;
    width = measuring.measureText(text).width;
    if (widths.size > 5000) widths.clear();
    widths.set(key, width);
  }
  return width;
}
