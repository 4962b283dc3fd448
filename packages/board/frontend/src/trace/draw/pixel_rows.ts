/**
 * Rows of device pixels, to be drawn as high as tracks are.
 *
 * A step has ten thousand items that are a pixel or two wide: to hand each over as a rectangle takes
 * a browser five times as long as to paint them here and hand over one picture.
 */
import { parseColour } from '../../picture/colour_mix.ts';

/** A colour as a pixel of ImageData, in the byte order of every machine that runs a browser. */
export function pixelOf(colour: string): number {
  const [r, g, b] = parseColour(colour) ?? [0, 0, 0];
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export class PixelRows {
  private width = 0;
  private rows = 0;
  private pixels = new Uint32Array(0);
  private canvas: HTMLCanvasElement | null = null;

  /** Starts `rows` transparent rows of `width` device pixels. */
  begin(width: number, rows: number): void {
    const n = width * rows;
    if (this.pixels.length < n) this.pixels = new Uint32Array(n);
    else this.pixels.fill(0, 0, n);
    this.width = width;
    this.rows = rows;
  }

  /** Paints device pixels [left, right) of a row, clipped to its width. */
  paint(row: number, left: number, right: number, pixel: number): void {
    const begin = row * this.width;
    const from = begin + Math.max(0, left);
    const to = begin + Math.min(this.width, right);
    if (to - from === 1) this.pixels[from] = pixel;
    else if (to > from) this.pixels.fill(pixel, from, to);
  }

  /** The pixel at a place; 0 where nothing was painted. */
  at(row: number, x: number): number {
    return this.pixels[row * this.width + x] ?? 0;
  }

  /** Copies the pixels to a canvas, from which `draw` draws. */
  end(): void {
    const { width, rows } = this;
    if (!width || !rows) return;
    this.canvas ??= document.createElement('canvas');
    if (this.canvas.width !== width || this.canvas.height < rows) {
      this.canvas.width = width;
      this.canvas.height = rows;
    }
    const bytes = new Uint8ClampedArray(this.pixels.buffer as ArrayBuffer, 0, 4 * width * rows);
    this.canvas.getContext('2d')!.putImageData(new ImageData(bytes, width, rows), 0, 0);
  }

  /** Draws a row over a rectangle of the page. */
  draw(on: CanvasRenderingContext2D, row: number, x: number, y: number, width: number, height: number): void {
    if (!this.canvas || !this.width) return;
    on.imageSmoothingEnabled = false;
    on.drawImage(this.canvas, 0, row, this.width, 1, x, y, width, height);
  }
}
