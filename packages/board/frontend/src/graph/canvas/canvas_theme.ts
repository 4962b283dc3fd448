/** The colours of the canvas for the page's theme. */
import { computed } from '@preact/signals';
import { colour, themeVersion } from '../../style/theme.ts';
import type { Theme } from '../drawing/paint.ts';
import type { Inks } from '../drawing/surface.ts';

export const paintTheme = computed<Theme>(() => {
  void themeVersion.value;
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'dark' || chosen === 'contrast' ? chosen : 'light';
});

export function inks(): Inks {
  const theme = paintTheme.peek();
  const dark = theme !== 'light';
  return {
    ground: colour('surface'),
    text: colour('text'),
    soft: colour('text-soft'),
    faint: colour('text-faint'),
    edge: theme === 'contrast' ? '#c8c8c8' : dark ? '#6b7482' : '#a3abb7',
    control: theme === 'contrast' ? '#a0a0a0' : dark ? '#59616d' : '#b7bdc7',
    edgeFaint: theme === 'contrast' ? '#505050' : dark ? '#363b43' : '#dde1e6',
    accent: colour('accent'),
    strip: theme === 'contrast' ? '#101010' : dark ? '#16181c' : '#f6f7f9',
    line: colour('line'),
    font: getComputedStyle(document.body).fontFamily,
  };
}
