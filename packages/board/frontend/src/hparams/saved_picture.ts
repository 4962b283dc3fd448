/** Saves the picture of the page that is shown. */
import { download, downloadCanvas } from '../picture/download.ts';
import { type Surface, SvgSurface } from '../picture/surface.ts';

interface Picture {
  width: number;
  height: number;
  draw: (on: Surface) => void;
}

const PIXELS = 2; // of a PNG for each CSS pixel
let shown: Picture | null = null;

/** Says what the picture is; the result takes it back. */
export function offerPicture(picture: Picture): () => void {
  shown = picture;
  return () => {
    if (shown === picture) shown = null;
  };
}

export function saveSvg(name: string): void {
  if (!shown) return;
  const svg = new SvgSurface(shown.width, shown.height);
  shown.draw(svg);
  download(`${name}.svg`, String(svg), 'image/svg+xml');
}

export function savePng(name: string): void {
  if (!shown) return;
  const canvas = document.createElement('canvas');
  canvas.width = shown.width * PIXELS;
  canvas.height = shown.height * PIXELS;
  const on = canvas.getContext('2d')!;
  on.scale(PIXELS, PIXELS);
  shown.draw(on);
  downloadCanvas(`${name}.png`, canvas);
}
