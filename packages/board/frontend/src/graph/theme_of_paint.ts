/** The tones that fit the page's theme, and the inks of the canvas. */
import { computed } from '@preact/signals';
import { colour, themeVersion } from '../style/theme.ts';
import type { Inks } from './canvas/draw_scene.ts';
import type { Theme } from './canvas/paint.ts';

export const paintTheme = computed<Theme>(() => {
  void themeVersion.value;
  const said = document.documentElement.dataset.theme;
  return said === 'dark' || said === 'contrast' ? said : 'light';
});

export function inks(): Inks {
  const theme = paintTheme.peek();
  const dark = theme !== 'light';
  return {
    ground: colour('surface'),
    text: colour('text'),
    soft: colour('text-soft'),
    faint: colour('text-faint'),
    edge: theme === 'contrast' ? '#c8c8c8' : dark ? '#7d8593' : '#8d95a1',
    control: theme === 'contrast' ? '#a0a0a0' : dark ? '#666e7b' : '#a6adb8',
    accent: colour('accent'),
    strip: theme === 'contrast' ? '#101010' : dark ? '#16181c' : '#f6f7f9',
    line: colour('line'),
    font: getComputedStyle(document.body).fontFamily,
  };
}
