/** The colours of the current theme for canvases; read them while rendering, so that a change renders anew. */
import { colour, themeVersion } from '../style/theme.ts';

export interface Palette {
  surface: string;
  text: string;
  faint: string;
  grid: string;
  line: string;
  accent: string;
  font: string;
}

export function paletteNow(): Palette {
  void themeVersion.value;
  return {
    surface: colour('surface'),
    text: colour('text'),
    faint: colour('text-faint'),
    grid: colour('grid'),
    line: colour('line'),
    accent: colour('accent'),
    font: 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
  };
}
